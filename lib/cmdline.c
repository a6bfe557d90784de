/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmdline.h"

#include <ctype.h>

static bool key_matches(const char *word, size_t n, const char *key) {
        if (strlen(key) != n)
                return false;
        for (size_t i = 0; i < n; i++)
                if ((word[i] == '-' ? '_' : word[i]) != (key[i] == '-' ? '_' : key[i]))
                        return false;
        return true;
}

/* Takes one parameter off the text, quotes removed: NULL at the end, or at `--`. */
static char *next_parameter(char **text) {
        char *p = *text, *out, *word;
        bool quoted = false;

        p += strspn(p, " \t\n");
        if (!*p)
                return NULL;
        word = out = p;
        for (; *p && (quoted || !isspace((unsigned char) *p)); p++) {
                if (*p == '"')
                        quoted = !quoted;
                else
                        *out++ = *p;
        }
        *text = *p ? p + 1 : p;
        *out = '\0';
        return streq(word, "--") ? NULL : word;
}

int cmdline_get(const char *cmdline, const char *key, char **ret) {
        _cleanup_free_ char *copy = NULL, *found = NULL;
        char *rest;

        if (!cmdline)
                return -ENOENT;
        rest = copy = strdup(cmdline);
        if (!copy)
                return -ENOMEM;
        for (char *word = next_parameter(&rest); word; word = next_parameter(&rest)) {
                size_t n = strcspn(word, "=");

                if (!key_matches(word, n, key))
                        continue;
                free(found);
                found = strdup(word[n] ? word + n + 1 : "");
                if (!found)
                        return -ENOMEM;
        }
        if (!found)
                return -ENOENT;
        *ret = TAKE_PTR(found);
        return 0;
}

int cmdline_isolcpus(const char *cmdline, const char *flag, CpuList *ret) {
        _cleanup_free_ char *value = NULL;
        bool flagged = false;
        char *p;
        int r = cmdline_get(cmdline, "isolcpus", &value);

        if (r < 0) {
                if (r == -ENOENT)
                        *ret = (CpuList){};
                return r == -ENOENT ? 0 : r;
        }
        for (p = value; isalpha((unsigned char) *p);) {
                size_t n = strcspn(p, ",");

                flagged = flagged || (n == strlen(flag) && strncmp(p, flag, n) == 0);
                p += n + (p[n] == ',');
        }
        if (!flagged) {
                *ret = (CpuList){};
                return 0;
        }
        r = cpulist_parse(p, ret, NULL);
        if (r == -EINVAL || r == -ERANGE) {
                /* The kernel ignores a list it cannot read, so nothing is isolated by it. */
                *ret = (CpuList){};
                return 0;
        }
        return r;
}
