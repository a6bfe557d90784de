/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kfs-emulate.h"

#define SPACES " \t\r\n"

/* Finds a whole word in a text; NULL where there is none. */
static const char *find_word(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *p = text + strspn(text, SPACES); *p;) {
                size_t length = strcspn(p, SPACES);

                if (length == n && memcmp(p, word, n) == 0)
                        return p;
                p += length;
                p += strspn(p, SPACES);
        }
        return NULL;
}

int kfs_find_token(const char *text, const char *word, char **ret) {
        _cleanup_free_ char *negated = NULL;
        const char *found = word;

        if (util_asprintf(&negated, "NO_%s", word) < 0)
                return -ENOMEM;
        if (!find_word(text, word)) {
                if (!find_word(text, negated))
                        return -ENOENT;
                found = negated;
        }
        return util_asprintf(ret, "%s", found);
}

/* `NO_WORD` for `WORD` and the other way round; -EINVAL where the file knows neither, as the kernel. */
static int emulate_features(const char *old, const char *value, char **ret) {
        const char *bare = util_startswith(value, "NO_");
        _cleanup_free_ char *token = NULL;
        const char *at;
        int r = kfs_find_token(old, bare ? bare : value, &token);

        if (r < 0)
                return r == -ENOENT ? -EINVAL : r;
        at = find_word(old, token);
        return util_asprintf(ret, "%.*s%s%s", (int) (at - old), old, value, at + strlen(token));
}

/* Moves the brackets to the word; -EINVAL where it is none of the words. */
static int emulate_choice(const char *old, const char *brackets, const char *value, char **ret) {
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ char *separators = NULL, *text = NULL;
        bool chosen = false;
        int r = util_asprintf(&separators, "%s" SPACES, brackets);

        r = r ?: util_strv_split(old, separators, &words);
        if (r < 0)
                return r;
        for (char **w = words; w && *w; w++) {
                char *marked;

                if (!streq(*w, value))
                        continue;
                if (util_asprintf(&marked, "%c%s%c", brackets[0], *w, brackets[1]) < 0)
                        return -ENOMEM;
                free(*w);
                *w = marked;
                chosen = true;
        }
        if (!chosen)
                return -EINVAL;
        r = util_strv_join(words, " ", &text);
        return r < 0 ? r : util_asprintf(ret, "%s\n", text);
}

/* The brackets of a file that tells all that may be written to it, or NULL. */
static const char *choice_brackets(const char *path, const char *old) {
        const char *name = strrchr(path, '/');

        if (strchr(old, '[') && strchr(old, ']'))
                return "[]";
        return name && streq(name, "/preempt") && strchr(old, '(') ? "()" : NULL;
}

static int emulate_subtree_control(const char *old, const char *value, char **ret) {
        _cleanup_strv_ char **words = NULL, **changes = NULL, **kept = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        r = util_strv_split(old, SPACES, &words);
        if (r >= 0)
                r = util_strv_split(value, SPACES, &changes);
        STRV_FOREACH (w, words) {
                _cleanup_free_ char *minus = NULL;

                if (r < 0 || util_asprintf(&minus, "-%s", *w) < 0)
                        return -ENOMEM;
                if (!util_strv_contains(changes, minus))
                        r = util_strv_push(&kept, *w);
        }
        STRV_FOREACH (c, changes)
                if (r >= 0 && (*c)[0] == '+' && !util_strv_contains(kept, *c + 1))
                        r = util_strv_push(&kept, *c + 1);
        if (r >= 0)
                r = util_strv_join(kept, " ", &text);
        return r < 0 ? r : util_asprintf(ret, "%s\n", text);
}

int kfs_emulate(const char *path, const char *word, const char *old, const char *value, char **ret) {
        const char *name = strrchr(path, '/');
        bool ends_in_newline = !old || !*old || old[strlen(old) - 1] == '\n';

        if (old && name && streq(name, "/cgroup.subtree_control") && strpbrk(value, "+-"))
                return emulate_subtree_control(old, value, ret);
        if (old && word)
                return emulate_features(old, value, ret);
        if (old && choice_brackets(path, old))
                return emulate_choice(old, choice_brackets(path, old), value, ret);
        return util_asprintf(ret, "%s%s", value, ends_in_newline ? "\n" : "");
}
