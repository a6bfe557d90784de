/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profiles.h"
#include "test.h"

char *profiles_errors(const ProfileErrors *errors) {
        _cleanup_strv_ char **sentences = NULL;
        char *text;

        for (size_t i = 0; i < errors->n; i++) {
                _cleanup_free_ char *sentence = NULL;

                assert_int_equal(profile_error_sentence(errors->items + i, &sentence), 0);
                assert_int_equal(util_strv_push(&sentences, sentence), 0);
        }
        assert_int_equal(util_strv_join(sentences, "\n", &text), 0);
        return text;
}

char *profiles_load(Tree *tree, const char *name) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        char *text;
        int r = profile_load(tree->kfs, name, &profile, &errors);

        if (r == -EINVAL)
                return profiles_errors(&errors);
        assert_int_equal(errors.n, 0);
        if (r < 0)
                return strdup(strerrorname_np(-r));
        assert_int_equal(profile_format(profile, false, &text), 0);
        return text;
}

char *profiles_load_text(const char *text) {
        _cleanup_tree_ Tree *tree = tree_new();

        tree_put(tree, "etc/rtisold/profiles/x.ini", text);
        return profiles_load(tree, "x");
}
