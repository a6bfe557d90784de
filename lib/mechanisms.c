/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend.h"
#include "cmdline.h"

static void mechanism_info_done(MechanismInfo *info) {
        free(info->name);
        free(info->file);
        free(info->advice);
}

void mechanisms_done(Mechanisms *mechanisms) {
        for (size_t i = 0; i < mechanisms->n; i++)
                mechanism_info_done(&mechanisms->items[i]);
        free(mechanisms->items);
        *mechanisms = (Mechanisms){};
}

int mechanisms_add(Mechanisms *mechanisms, const char *name, Mechanism mechanism, const char *file,
        const char *advice) {
        MechanismInfo info = {
                .name = strdup(name),
                .mechanism = mechanism,
                .file = strdup(file),
                .advice = strdup(advice),
        };
        int r = info.name && info.file && info.advice ? GROW(mechanisms->items, mechanisms->n) : -ENOMEM;

        if (r < 0) {
                mechanism_info_done(&info);
                return r;
        }
        mechanisms->items[mechanisms->n++] = info;
        return 0;
}

int mechanisms_add_file(Mechanisms *mechanisms, Kfs *kfs, const char *name, const char *file,
        Mechanism missing, const char *advice) {
        _cleanup_free_ char *text = NULL;
        int r = kfs_read(kfs, file, &text);

        if (r == -ENOMEM)
                return r;
        if (r == -EACCES || r == -EPERM)
                return mechanisms_add(mechanisms, name, MECHANISM_RUNTIME, file,
                        "only root may look whether it is there: ask again as root");
        if (r < 0)
                return mechanisms_add(mechanisms, name, missing, file, advice);
        return mechanisms_add(mechanisms, name, MECHANISM_RUNTIME, file, "");
}

int mechanisms_add_boot(Mechanisms *mechanisms, Kfs *kfs, const char *name, const char *const *keys,
        const char *flag, const char *file, const char *advice) {
        _cleanup_free_ char *cmdline = NULL;
        int r = kfs_read(kfs, "/proc/cmdline", &cmdline);

        if (r == -ENOMEM)
                return r;
        for (; *keys; keys++) {
                _cleanup_free_ char *value = NULL, *word = NULL;

                if (cmdline_get(cmdline, *keys, &value) < 0 || (flag && !strstr(value, flag)))
                        continue;
                r = util_asprintf(&word, "%s=%s", *keys, value);
                return r ?: mechanisms_add(mechanisms, name, MECHANISM_BOOT, word, "");
        }
        return mechanisms_add(mechanisms, name, MECHANISM_BOOT, file, advice);
}
