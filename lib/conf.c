/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf.h"

#include "profile-keys.h"
#include "profile-search.h"

/* In the order of ConfOnStop. */
static const char *const on_stop[] = { "leave", "green", NULL };

static const KeyRow daemon_rows[] = {
        { "mode", value_parse_profile_name, offsetof(Conf, mode) },
        { "on_stop", value_parse_choice, offsetof(Conf, on_stop), .words = on_stop },
};

static const SectionRow section_rows[] = {
        { "daemon", NULL, daemon_rows, ARRAY_SIZE(daemon_rows) },
};

static const KeyTable conf_keys = { section_rows, ARRAY_SIZE(section_rows) };

void conf_done(Conf *conf) {
        free(conf->mode);
        *conf = (Conf){};
}

static bool needs_none(const char *section, const char *key) {
        return false;
}

static int read_conf(Kfs *kfs, Conf *conf, ProfileErrors *errors) {
        _cleanup_profile_lines_ ProfileLines lines = {};
        int r = profile_check_folder(kfs, "/etc/rtisold", errors);

        if (r < 0)
                return r;
        r = profile_file_read(kfs, CONF_FILE, &lines, errors);
        /* No file, or one that says nothing, leaves the defaults. */
        if (r == -ENOENT || r == -ESHUTDOWN)
                return errors->n > 0 ? -EINVAL : 0;
        if (r == 0)
                r = keys_check(&conf_keys, &lines, errors);
        if (r == 0)
                r = profile_lines_merge(&lines, needs_none, errors);
        if (r == 0)
                r = keys_apply(&conf_keys, &lines, conf);
        if (r == 0 && errors->n > 0)
                r = -EINVAL;
        return r;
}

int conf_load(Kfs *kfs, Conf *ret, ProfileErrors *ret_errors) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_conf_ Conf conf = {};
        char *const files[] = { (char *) CONF_FILE, NULL };
        int r = read_conf(kfs, &conf, &errors);

        if (r == -EINVAL && ret_errors) {
                profile_errors_sort(&errors, files);
                *ret_errors = errors;
                errors = (ProfileErrors){};
        }
        if (r == 0) {
                *ret = conf;
                conf = (Conf){};
        }
        return r;
}
