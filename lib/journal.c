/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

#include "journal-json.h"
#include "kfs-root.h"

/* One file of lines.  The first is the header, the second what is in force; a switch under way appends its
 * own.  Each line is `{"sum":"…","data":…}`, the sum being that of the bytes of data.  What is in force is
 * only ever replaced by renaming a whole new file over the old one. */
#define FILE_NAME "journal"
#define NEW_NAME "journal.new"
#define FORMAT "rtisold-journal"
#define VERSION 1

#define LINE_HEAD "{\"sum\":\"%016llx\",\"data\":"
#define LINE_HEAD_SIZE (sizeof("{\"sum\":\"0123456789abcdef\",\"data\":") - 1)

struct Journal {
        char *path, *file, *boot_id;
        int directory;
        bool on_disk;  /* the file holds what the fields below do */
        bool restored; /* somebody removed it, and it was written anew */
        off_t begun;   /* where in it the switch under way begins */
        char *mode, *by, *profile_sha256, *problem;
        uint64_t since;
        Steps steps;
        Switch *unfinished;
        JournalHook hook;
        void *hook_userdata;
};

void journal_free(Journal *journal) {
        if (!journal)
                return;
        if (journal->directory >= 0)
                (void) close(journal->directory);
        free(journal->path);
        free(journal->file);
        free(journal->boot_id);
        free(journal->mode);
        free(journal->by);
        free(journal->profile_sha256);
        free(journal->problem);
        steps_done(&journal->steps);
        switch_free(journal->unfinished);
        free(journal);
}

const char *journal_problem(const Journal *journal) {
        return journal->problem;
}

const char *journal_file(const Journal *journal) {
        return journal->file;
}

bool journal_is_on_disk(const Journal *journal) {
        return journal->on_disk;
}

bool journal_take_restored(Journal *journal) {
        bool restored = journal->restored;

        journal->restored = false;
        return restored;
}

const char *journal_mode(const Journal *journal) {
        return journal->mode;
}

const Steps *journal_steps(const Journal *journal) {
        return &journal->steps;
}

const char *journal_profile_sha256(const Journal *journal) {
        return journal->profile_sha256;
}

uint64_t journal_since(const Journal *journal) {
        return journal->since;
}

const char *journal_by(const Journal *journal) {
        return journal->by;
}

const Switch *journal_unfinished(const Journal *journal) {
        return journal->unfinished;
}

/* The hook */

void journal_hook(Journal *journal, JournalHook hook, void *userdata) {
        journal->hook = hook;
        journal->hook_userdata = userdata;
}

static int at(Journal *journal, const char *moment) {
        int r = journal->hook ? journal->hook(journal->hook_userdata, moment) : 0;

        return r < 0 ? r : 0;
}

/* Lines */

static uint64_t checksum(const char *data, size_t size) {
        uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a: what it is to find is a torn line, not an attacker */

        for (size_t i = 0; i < size; i++)
                sum = (sum ^ (unsigned char) data[i]) * 0x100000001b3u;
        return sum;
}

static int line_format(const json_t *data, char **ret) {
        _cleanup_free_ char *text = data ? json_dumps(data, JSON_COMPACT) : NULL;

        if (!text)
                return -ENOMEM;
        return util_asprintf(
                ret, LINE_HEAD "%s}\n", (unsigned long long) checksum(text, strlen(text)), text);
}

/* *ret is NULL where the line is damaged. */
static int line_parse(const char *line, size_t size, json_t **ret) {
        char head[LINE_HEAD_SIZE + 1];
        size_t length;

        *ret = NULL;
        if (size < LINE_HEAD_SIZE + 1 || line[size - 1] != '}')
                return 0;
        length = size - LINE_HEAD_SIZE - 1;
        snprintf(
                head, sizeof(head), LINE_HEAD, (unsigned long long) checksum(line + LINE_HEAD_SIZE, length));
        if (memcmp(head, line, LINE_HEAD_SIZE) != 0)
                return 0;
        line += LINE_HEAD_SIZE;
        errno = 0;
        return json_take(json_loadb(line, length, 0, NULL), json_loadb(line, length, 0, NULL), ret);
}

/* Reading */

/* Another boot's or another version's journal has a header that is right in itself. */
typedef enum Found { FOUND_OURS, FOUND_OTHER_BOOT, FOUND_OTHER_VERSION, FOUND_DAMAGED } Found;

static Found check_header(const Journal *journal, const json_t *header) {
        const char *format = json_string_value(json_object_get(header, "format"));
        const char *boot_id = json_string_value(json_object_get(header, "boot_id"));

        if (!format || !streq(format, FORMAT) || !boot_id)
                return FOUND_DAMAGED;
        if (!streq(boot_id, journal->boot_id))
                return FOUND_OTHER_BOOT;
        if (json_integer_value(json_object_get(header, "version")) != VERSION)
                return FOUND_OTHER_VERSION;
        return FOUND_OURS;
}

static int read_in_force(Journal *journal, const json_t *data) {
        _cleanup_free_ char *mode = NULL, *by = NULL, *sha256 = NULL;
        uint64_t since = 0;
        Steps steps;
        int r = json_need_text(data, "mode", &mode);

        r = r ?: json_need_text(data, "by", &by);
        r = r ?: json_need_text(data, "profile_sha256", &sha256);
        r = r ?: json_get_u64(data, "since", &since);
        r = r ?: journal_steps_from_json(data, &steps);
        if (r < 0)
                return r;
        free(journal->mode);
        free(journal->by);
        free(journal->profile_sha256);
        steps_done(&journal->steps);
        journal->mode = TAKE_PTR(mode);
        journal->by = TAKE_PTR(by);
        journal->profile_sha256 = TAKE_PTR(sha256);
        journal->since = since;
        journal->steps = steps;
        return 0;
}

/* -EPROTO for a line that is right in itself and says what cannot be. */
static int read_line(Journal *journal, size_t index, const json_t *data, Found *found) {
        if (index == 0)
                *found = check_header(journal, data);
        else if (index == 1)
                return read_in_force(journal, data);
        else
                return journal->unfinished ? -EPROTO : switch_from_json(data, &journal->unfinished);
        return 0;
}

static int set_problem(Journal *journal, const char *format, ...) _printf_(2, 3);
static int set_problem(Journal *journal, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&journal->problem, format, ap);
        va_end(ap);
        if (r < 0) {
                journal->problem = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int cut(Journal *journal, off_t keep) {
        _cleanup_close_ int fd = openat(journal->directory, FILE_NAME, O_WRONLY | O_CLOEXEC);

        return fd < 0 || ftruncate(fd, keep) < 0 ? -errno : 0;
}

/* The last record may be torn: then what it announces was never begun.  It is cut off, so that the next one
 * starts on a line of its own. */
static int cut_torn(Journal *journal, size_t keep) {
        int r = cut(journal, (off_t) keep);

        return r
                ?: set_problem(journal,
                           "%s/" FILE_NAME
                           " ended in a torn record: the daemon was killed while it wrote it, "
                           "before anything of it was done",
                           journal->path);
}

static int read_text(Journal *journal, const char *text, size_t size, Found *ret_found) {
        Found found = FOUND_OURS;
        size_t index = 0;

        for (size_t start = 0; start < size && found == FOUND_OURS; index++) {
                const char *line = text + start, *end = memchr(line, '\n', size - start);
                size_t length = end ? (size_t) (end - line) : size - start;
                _cleanup_json_ json_t *data = NULL;
                bool last = !end || start + length + 1 == size;
                int r = end ? line_parse(line, length, &data) : 0;

                if (r < 0)
                        return r;
                if (index == 2)
                        journal->begun = (off_t) start;
                if (!data && last && index >= 2)
                        return cut_torn(journal, start);
                r = data ? read_line(journal, index, data, &found) : -EPROTO;
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        found = FOUND_DAMAGED;
                start += length + 1;
        }
        *ret_found = found == FOUND_OURS && index < 2 ? FOUND_DAMAGED : found;
        return 0;
}

/* Back to what an empty folder says. */
static int set_green(Journal *journal) {
        free(journal->mode);
        free(journal->by);
        free(journal->profile_sha256);
        steps_done(&journal->steps);
        switch_free(TAKE_PTR(journal->unfinished));
        journal->mode = strdup("green");
        journal->by = strdup("");
        journal->profile_sha256 = strdup("");
        journal->since = 0;
        journal->on_disk = false;
        return journal->mode && journal->by && journal->profile_sha256 ? 0 : -ENOMEM;
}

static int keep_beside(Journal *journal, const char *why) {
        for (unsigned i = 1; i < 1000; i++) {
                char name[64];

                snprintf(name, sizeof(name), FILE_NAME ".unusable-%u", i);
                if (linkat(journal->directory, FILE_NAME, journal->directory, name, 0) < 0) {
                        if (errno == EEXIST)
                                continue;
                        return -errno;
                }
                if (unlinkat(journal->directory, FILE_NAME, 0) < 0)
                        return -errno;
                return set_problem(journal,
                        "%s/" FILE_NAME " %s; it is kept as %s/%s. What a mode changed before is not known "
                        "any more: reboot, or put it back by hand from the \"before\" values in that file",
                        journal->path, why, journal->path, name);
        }
        return -EEXIST;
}

/* 1 where what was found had to be put aside. */
static int judge(Journal *journal, Found found) {
        int r = found == FOUND_OURS ? 0 : set_green(journal);

        if (r < 0)
                return r;
        switch (found) {
        case FOUND_OURS: journal->on_disk = true; return 0;
        case FOUND_OTHER_BOOT:
                return set_problem(journal,
                        "%s/" FILE_NAME " was of another boot: what it told of is gone with that",
                        journal->path);
        case FOUND_OTHER_VERSION:
                r = keep_beside(journal, "is of a version that this one cannot read");
                break;
        case FOUND_DAMAGED: r = keep_beside(journal, "is damaged"); break;
        }
        return r < 0 ? r : 1;
}

static int journal_read(Journal *journal) {
        _cleanup_close_ int fd = openat(journal->directory, FILE_NAME, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        Found found = FOUND_OURS;
        size_t size;
        int r;

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        r = fd_read_all(fd, &text, &size);
        r = r ?: read_text(journal, text, size, &found);
        return r < 0 ? r : judge(journal, found);
}

static int open_directory(Journal *journal) {
        int fd;

        if (mkdir(journal->path, 0700) < 0 && errno != EEXIST)
                return -errno;
        fd = open(journal->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (journal->directory >= 0)
                (void) close(journal->directory);
        journal->directory = fd;
        return 0;
}

int journal_open(const char *directory, const char *boot_id, Journal **ret) {
        _cleanup_journal_ Journal *journal = calloc(1, sizeof(Journal));
        int r;

        if (!journal)
                return -ENOMEM;
        journal->directory = -1;
        journal->path = strdup(directory);
        journal->boot_id = strdup(boot_id);
        if (!journal->path || !journal->boot_id)
                return -ENOMEM;
        r = util_asprintf(&journal->file, "%s/" FILE_NAME, directory);
        r = r ?: open_directory(journal);
        r = r ?: set_green(journal);
        r = r ?: journal_read(journal);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(journal);
        return r;
}

/* Writing */

/* What is to be in force, in the words of the file. */
typedef struct InForce {
        const char *mode, *by, *profile_sha256;
        uint64_t since;
        const Steps *steps;
} InForce;

static int format_file(const Journal *journal, const InForce *in_force, char **ret) {
        _cleanup_json_ json_t *header = json_pack("{s:s,s:i,s:s}", "format", FORMAT, "version", VERSION,
                                      "boot_id", journal->boot_id),
                              *data = journal_steps_to_json(in_force->steps);
        _cleanup_free_ char *first = NULL, *second = NULL;
        int r;

        if (!header || !data)
                return -ENOMEM;
        r = json_put_text(data, "mode", in_force->mode);
        r = r ?: json_put_text(data, "by", in_force->by);
        r = r ?: json_put_text(data, "profile_sha256", in_force->profile_sha256);
        if (r < 0 || json_object_set_new(data, "since", json_integer((json_int_t) in_force->since)) < 0)
                return -ENOMEM;
        r = line_format(header, &first);
        r = r ?: line_format(data, &second);
        return r ?: util_asprintf(ret, "%s%s", first, second);
}

static int write_new(Journal *journal, const char *text) {
        _cleanup_close_ int fd = -1;
        int r = at(journal, "before write");

        if (r < 0)
                return r;
        fd = openat(journal->directory, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = util_write_all(fd, text, strlen(text));
        return r ?: at(journal, "after write");
}

/* Puts a whole new file in the place of the old one: before the rename the old one holds, after it the new.
 */
static int rewrite(Journal *journal, const InForce *in_force) {
        _cleanup_free_ char *text = NULL;
        int r = format_file(journal, in_force, &text);

        r = r ?: write_new(journal, text);
        r = r ?: at(journal, "before rename");
        if (r >= 0 && renameat(journal->directory, NEW_NAME, journal->directory, FILE_NAME) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(journal->directory, NEW_NAME, 0);
                return r;
        }
        r = at(journal, "after rename");
        journal->on_disk = r >= 0;
        return r;
}

/* A record that could not be written whole is cut off again.  *ret_start is where it begins. */
static int append(Journal *journal, const json_t *data, off_t *ret_start) {
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *line = NULL;
        struct stat st;
        int r = line_format(data, &line);

        r = r ?: at(journal, "before append");
        if (r < 0)
                return r;
        fd = openat(journal->directory, FILE_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        r = util_write_all(fd, line, strlen(line));
        r = r ?: at(journal, "after append");
        if (r < 0 && ftruncate(fd, st.st_size) < 0)
                return -errno;
        if (r >= 0)
                *ret_start = st.st_size;
        return r;
}

static InForce now_in_force(const Journal *journal) {
        return (InForce){ journal->mode, journal->by, journal->profile_sha256, journal->since,
                &journal->steps };
}

/* Keeping */

static bool is_in_place(const Journal *journal) {
        struct stat there, ours;

        if (stat(journal->path, &there) < 0 || fstat(journal->directory, &ours) < 0 ||
                there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
                return false;
        return !journal->on_disk || faccessat(journal->directory, FILE_NAME, F_OK, 0) == 0;
}

/* The folder above goes with `rm -r`, too. */
static int make_above(const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *above = NULL;

        if (!slash || slash == path)
                return 0;
        above = strndup(path, (size_t) (slash - path));
        if (!above)
                return -ENOMEM;
        return mkdir(above, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int write_anew(Journal *journal) {
        _cleanup_json_ json_t *data = journal->unfinished ? switch_to_json(journal->unfinished) : NULL;
        InForce in_force = now_in_force(journal);
        int r = journal->unfinished && !data ? -ENOMEM : rewrite(journal, &in_force);

        r = r ?: data ? append(journal, data, &journal->begun) : 0;
        /* A file without the switch that is under way would be a lie. */
        if (r < 0 && data)
                (void) unlinkat(journal->directory, FILE_NAME, 0);
        return r;
}

int journal_keep(Journal *journal) {
        bool was_on_disk = journal->on_disk;
        int r;

        if (is_in_place(journal))
                return 0;
        r = make_above(journal->path);
        r = r ?: open_directory(journal);
        if (r >= 0 && was_on_disk)
                r = write_anew(journal);
        if (r < 0)
                return r;
        journal->restored |= was_on_disk;
        return was_on_disk;
}

int journal_begin(Journal *journal, const Switch *sw) {
        _cleanup_json_ json_t *data = switch_to_json(sw);
        _cleanup_switch_ Switch *copy = NULL;
        InForce in_force = now_in_force(journal);
        int r = data ? 0 : -ENOMEM;

        if (journal->unfinished)
                return -EBUSY;
        r = r < 0 ? r : journal_keep(journal);
        r = r < 0 ? r : switch_from_json(data, &copy);
        if (r >= 0 && !journal->on_disk)
                r = rewrite(journal, &in_force);
        r = r ?: append(journal, data, &journal->begun);
        if (r >= 0)
                journal->unfinished = TAKE_PTR(copy);
        return r;
}

static int copy_steps(const Steps *steps, Steps *ret) {
        _cleanup_json_ json_t *json = journal_steps_to_json(steps);

        return json ? journal_steps_from_json(json, ret) : -ENOMEM;
}

static uint64_t now_usec(void) {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* In the file first, then here; a switch under way is over with that. */
static int replace_in_force(Journal *journal, const InForce *in_force) {
        _cleanup_free_ char *mode = strdup(in_force->mode), *by = strdup(in_force->by),
                            *sha256 = strdup(in_force->profile_sha256);
        Steps steps = {};
        int r = mode && by && sha256 ? journal_keep(journal) : -ENOMEM;

        r = r < 0 ? r : copy_steps(in_force->steps, &steps);
        if (r < 0)
                return r;
        r = rewrite(journal, in_force);
        if (r < 0) {
                steps_done(&steps);
                return r;
        }
        free(journal->mode);
        free(journal->by);
        free(journal->profile_sha256);
        steps_done(&journal->steps);
        switch_free(TAKE_PTR(journal->unfinished));
        journal->mode = TAKE_PTR(mode);
        journal->by = TAKE_PTR(by);
        journal->profile_sha256 = TAKE_PTR(sha256);
        journal->since = in_force->since;
        journal->steps = steps;
        return 0;
}

int journal_commit(Journal *journal, const Switch *sw, const char *profile_sha256, const char *by) {
        /* Mending a mode does not make it a new one. */
        bool same = streq(journal->mode, sw->to) && journal->since != 0;
        _cleanup_free_ char *who = strdup(same ? journal->by : by ?: "");
        InForce in_force = { sw->to, who, profile_sha256 ?: "", same ? journal->since : now_usec(),
                &sw->in_force };

        return who ? replace_in_force(journal, &in_force) : -ENOMEM;
}

int journal_adopt(Journal *journal, const char *mode, const char *by, const char *profile_sha256,
        uint64_t since, const Steps *steps) {
        InForce in_force = { mode, by, profile_sha256, since, steps };

        return journal->unfinished ? -EBUSY : replace_in_force(journal, &in_force);
}

/* The records of the mode that stays, and those of objects that it does not know.  1 where that is more than the mode's
 * own. */
static int merge_left(const Journal *journal, const Steps *left, Steps *ret) {
        _cleanup_steps_ Steps steps = {};
        int r = copy_steps(&journal->steps, &steps);

        for (size_t i = 0; r >= 0 && left && i < left->n; i++) {
                Step *known = steps_find(&steps, left->items[i].object), copy = {};

                if (known) {
                        known->flags |= STEP_LEFT;
                        continue;
                }
                r = step_copy(&left->items[i], &copy);
                r = r ?: steps_add(&steps, &copy);
        }
        if (r < 0)
                return r;
        *ret = steps;
        steps = (Steps){};
        return left && left->n > 0;
}

/* Takes the switch out of the file again, which needs no room in the file system. */
static int forget_switch(Journal *journal) {
        int r = at(journal, "before cut");

        r = r ?: cut(journal, journal->begun);
        return r ?: at(journal, "after cut");
}

int journal_abort(Journal *journal, const Steps *left) {
        InForce in_force = now_in_force(journal);
        Steps steps = {};
        int r;

        if (!journal->unfinished)
                return 0;
        r = journal_keep(journal);
        r = r < 0 ? r : merge_left(journal, left, &steps);
        if (r < 0)
                return r;
        in_force.steps = &steps;
        r = journal->on_disk && r == 0 ? forget_switch(journal) : rewrite(journal, &in_force);
        if (r < 0) {
                steps_done(&steps);
                return r;
        }
        steps_done(&journal->steps);
        journal->steps = steps;
        switch_free(TAKE_PTR(journal->unfinished));
        return 0;
}
