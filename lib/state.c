/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "journal-json.h"

#define VERSION 1

void state_done(State *state) {
        free(state->mode);
        free(state->by);
        free(state->profile_sha256);
        free(state->boot_id);
        steps_done(&state->steps);
        *state = (State){};
}

static json_t *state_to_json(const Journal *journal, const char *boot_id) {
        _cleanup_json_ json_t *object = journal_steps_to_json(journal_steps(journal));
        int r = object ? 0 : -ENOMEM;

        r = r ?: json_put_text(object, "mode", journal_mode(journal));
        r = r ?: json_put_text(object, "by", journal_by(journal));
        r = r ?: json_put_text(object, "profile_sha256", journal_profile_sha256(journal));
        r = r ?: json_put_text(object, "boot_id", boot_id);
        if (r < 0 || json_object_set_new(object, "version", json_integer(VERSION)) < 0 ||
                json_object_set_new(object, "since", json_integer((json_int_t) journal_since(journal))) < 0)
                return NULL;
        return TAKE_PTR(object);
}

/* In one piece: jansson itself would make a system call of every bracket. */
static int write_file(const char *path, const json_t *object) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);

        if (fd < 0)
                return -errno;
        if (!text)
                return -ENOMEM;
        /* Whatever the umask of the daemon: everybody may know what is in force. */
        if (fchmod(fd, 0644) < 0)
                return -errno;
        return util_write_all(fd, text, strlen(text));
}

int state_write(const char *path, const Journal *journal, const char *boot_id) {
        _cleanup_json_ json_t *object = state_to_json(journal, boot_id);
        _cleanup_free_ char *temporary = NULL;
        int r;

        if (!object)
                return -ENOMEM;
        r = util_asprintf(&temporary, "%s.new", path);
        if (r < 0)
                return r;
        r = write_file(temporary, object);
        if (r >= 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0)
                (void) unlink(temporary);
        return r;
}

static int state_from_json(const json_t *object, State *state) {
        int r = 0;

        if (json_integer_value(json_object_get(object, "version")) != VERSION)
                return -EPROTO;
        r = r ?: json_need_text(object, "mode", &state->mode);
        r = r ?: json_need_text(object, "by", &state->by);
        r = r ?: json_need_text(object, "profile_sha256", &state->profile_sha256);
        r = r ?: json_need_text(object, "boot_id", &state->boot_id);
        r = r ?: json_get_u64(object, "since", &state->since);
        return r ?: journal_steps_from_json(object, &state->steps);
}

int state_read(const char *path, const char *boot_id, State *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        _cleanup_json_ json_t *object = NULL;
        _cleanup_state_ State state = {};
        json_t *first, *second;
        int r;

        if (fd < 0)
                return -errno;
        errno = 0;
        first = json_loadfd(fd, 0, NULL);
        second = lseek(fd, 0, SEEK_SET) == 0 ? json_loadfd(fd, 0, NULL) : NULL;
        r = json_take(first, second, &object);
        if (r < 0)
                return r;
        if (!object)
                return -EPROTO;
        r = state_from_json(object, &state);
        if (r < 0)
                return r;
        if (boot_id && !streq(boot_id, state.boot_id))
                return -ENOENT;
        *ret = state;
        state = (State){};
        return 0;
}
