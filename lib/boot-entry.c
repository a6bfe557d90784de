/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-entry.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define RECORD_FOLDER "/var/lib/rtisold"
#define RECORD RECORD_FOLDER "/kernel-args"
#define GRUB_FOLDER "/etc/default/grub.d"
#define GRUB_FILE GRUB_FOLDER "/60-rtisold.cfg"
#define KERNEL_FILE "/etc/kernel/cmdline"

static const char *const kinds[] = { "grubby", "grub", "kernel" };

void boot_entry_done(BootEntry *entry) {
        free(entry->profile);
        util_strv_free(entry->asked);
        util_strv_free(entry->words);
        *entry = (BootEntry){};
}

const char *boot_entry_file(BootEntryKind kind) {
        static const char *const files[] = { "the entries of grubby(8)", GRUB_FILE, KERNEL_FILE, "" };

        return files[kind];
}

static int say(char **ret_why, int error, const char *format, ...) _printf_(3, 4);
static int say(char **ret_why, int error, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = util_vasprintf(ret_why, format, ap);
        va_end(ap);
        return r < 0 ? r : error;
}

/* Files */

static int path_of(const char *root, const char *path, char **ret) {
        return util_asprintf(ret, "%s%s", root ?: "", path);
}

static bool exists(const char *root, const char *path) {
        _cleanup_free_ char *whole = NULL;

        return path_of(root, path, &whole) == 0 && access(whole, F_OK) == 0;
}

static int read_text(const char *root, const char *path, char **ret) {
        _cleanup_free_ char *whole = NULL, *text = NULL;
        _cleanup_fclose_ FILE *file = NULL;
        size_t size = 0;
        ssize_t n;

        if (path_of(root, path, &whole) < 0)
                return -ENOMEM;
        file = fopen(whole, "re");
        if (!file)
                return -errno;
        n = getdelim(&text, &size, '\0', file);
        if (n < 0 && ferror(file))
                return -EIO;
        if (n < 0) {
                free(text);
                text = strdup("");
        }
        *ret = TAKE_PTR(text);
        return *ret ? 0 : -ENOMEM;
}

/* Whole or not at all: a machine that loses power meanwhile still boots. */
static int write_text(const char *root, const char *path, const char *text) {
        _cleanup_free_ char *whole = NULL, *temporary = NULL;
        _cleanup_close_ int fd = -1;
        int r = path_of(root, path, &whole);

        r = r ?: util_asprintf(&temporary, "%s.new", whole);
        if (r < 0)
                return r;
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        r = util_write_all(fd, text, strlen(text));
        if (r == 0 && (fsync(fd) < 0 || rename(temporary, whole) < 0))
                r = -errno;
        if (r == 0)
                return 0;
        (void) unlink(temporary);
        return r;
}

static int remove_file(const char *root, const char *path) {
        _cleanup_free_ char *whole = NULL;

        if (path_of(root, path, &whole) < 0)
                return -ENOMEM;
        return unlink(whole) < 0 && errno != ENOENT ? -errno : 0;
}

/* 1 where it was made. */
static int make_folder(const char *root, const char *path) {
        _cleanup_free_ char *whole = NULL;

        if (path_of(root, path, &whole) < 0)
                return -ENOMEM;
        if (mkdir(whole, 0755) == 0)
                return 1;
        return errno == EEXIST ? 0 : -errno;
}

/* Where it is empty. */
static void remove_folder(const char *root, const char *path) {
        _cleanup_free_ char *whole = NULL;

        if (path_of(root, path, &whole) == 0)
                (void) rmdir(whole);
}

/* Programs of the distribution */

extern char **environ;

static bool is_live(const char *root) {
        return !root || !*root || streq(root, "/");
}

/* 0 where it ran and said so. */
static int run(char *const *argv, char **ret_why) {
        pid_t pid;
        int status, r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

        if (r != 0)
                return say(ret_why, -r, "%s cannot be started: %s", argv[0], strerror(r));
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return say(ret_why, -EIO, "%s failed; what it said is above", argv[0]);
        return 0;
}

/* The same, for what it prints. */
static int run_for(char *const *argv, char **ret) {
        posix_spawn_file_actions_t actions;
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int pipes[2], status, r;
        pid_t pid;

        if (pipe2(pipes, O_CLOEXEC) < 0)
                return -errno;
        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
        r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        (void) posix_spawn_file_actions_destroy(&actions);
        (void) close(pipes[1]);
        file = fdopen(pipes[0], "r");
        if (!file)
                (void) close(pipes[0]);
        if (r != 0 || !file)
                return r ? -r : -ENOMEM;
        if (getdelim(&text, &size, '\0', file) < 0)
                text = text ?: calloc(1, 1);
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !text)
                return -EIO;
        *ret = TAKE_PTR(text);
        return 0;
}

/* Another machine's entries are files below its root; /etc/default/grub of this one is left alone then. */
static int grubby_arguments(const char *root, const char *first, const char *second, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        _cleanup_free_ char *folder = NULL;
        int r = util_strv_push(&argv, "grubby");

        r = r ?: util_strv_push(&argv, first);
        if (second)
                r = r ?: util_strv_push(&argv, second);
        if (!is_live(root)) {
                r = r ?: util_asprintf(&folder, "--bls-directory=%s/boot/loader/entries", root);
                r = r ?: util_strv_push(&argv, folder);
                r = r ?: util_strv_push(&argv, "--no-etc-grub-update");
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(argv);
        return 0;
}

static int run_grubby(const char *root, const char *option, char *const *words, char **ret_why) {
        _cleanup_free_ char *joined = NULL, *argument = NULL;
        _cleanup_strv_ char **argv = NULL;
        int r = util_strv_join(words, " ", &joined);

        r = r ?: util_asprintf(&argument, "--%s=%s", option, joined);
        r = r ?: grubby_arguments(root, "--update-kernel=ALL", argument, &argv);
        return r ?: run(argv, ret_why);
}

/* The words of the entry that boots: `args="ro quiet"` is a line of what it prints. */
static int read_grubby(const char *root, char ***ret) {
        _cleanup_strv_ char **argv = NULL, **lines = NULL;
        _cleanup_free_ char *text = NULL;
        int r = grubby_arguments(root, "--info=DEFAULT", NULL, &argv);

        r = r ?: run_for(argv, &text);
        r = r ?: util_strv_split(text, "\n", &lines);
        STRV_FOREACH (line, lines)
                if (r == 0 && util_startswith(*line, "args="))
                        return util_strv_split(*line + strlen("args="), "\" ", ret);
        return r;
}

/* Makes the boot loader's own files anew. */
static int update_loader(const char *root, BootEntryKind kind, char **ret_why) {
        _cleanup_free_ char *image = NULL;
        struct utsname name;

        if (!is_live(root))
                return 0;
        if (kind == BOOT_ENTRY_GRUB)
                return run((char *const[]){ (char *) "update-grub", NULL }, ret_why);
        if (uname(&name) < 0)
                return -errno;
        if (util_asprintf(&image, "/lib/modules/%s/vmlinuz", name.release) < 0)
                return -ENOMEM;
        if (access(image, F_OK) < 0) {
                free(TAKE_PTR(image));
                if (util_asprintf(&image, "/boot/vmlinuz-%s", name.release) < 0)
                        return -ENOMEM;
        }
        return run((char *const[]){ (char *) "kernel-install", (char *) "add", name.release, image, NULL },
                ret_why);
}

/* What was installed */

static int write_record(const char *root, const BootEntry *entry) {
        _cleanup_free_ char *words = NULL, *asked = NULL, *text = NULL;
        int r = util_strv_join(entry->words, " ", &words);

        r = r ?: util_strv_join(entry->asked, " ", &asked);
        r = r
                ?: util_asprintf(&text, "loader=%s\nprofile=%s\nmade=%d\nasked=%s\nwords=%s\n",
                           kinds[entry->kind], entry->profile, entry->made, asked, words);
        r = r ?: make_folder(root, "/var");
        if (r >= 0)
                r = make_folder(root, "/var/lib");
        if (r >= 0)
                r = make_folder(root, RECORD_FOLDER);
        return r < 0 ? r : write_text(root, RECORD, text);
}

static int take_line(const char *line, BootEntry *entry) {
        const char *value;

        if ((value = util_startswith(line, "profile=")))
                return util_copy(value, &entry->profile);
        if ((value = util_startswith(line, "asked=")))
                return util_strv_split(value, " ", &entry->asked);
        if ((value = util_startswith(line, "words=")))
                return util_strv_split(value, " ", &entry->words);
        if ((value = util_startswith(line, "made=")))
                entry->made = streq(value, "1");
        else if ((value = util_startswith(line, "loader=")))
                for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                        if (streq(value, kinds[i]))
                                entry->kind = (BootEntryKind) i;
        return 0;
}

int boot_entry_read(const char *root, BootEntry *ret) {
        _cleanup_boot_entry_ BootEntry entry = { .kind = BOOT_ENTRY_UNKNOWN };
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_ char **lines = NULL;
        int r = read_text(root, RECORD, &text);

        r = r ?: util_strv_split(text, "\n", &lines);
        STRV_FOREACH (line, lines)
                r = r ?: take_line(*line, &entry);
        if (r < 0)
                return r;
        if (entry.kind == BOOT_ENTRY_UNKNOWN || !entry.profile || !entry.words)
                return -EBADMSG;
        *ret = entry;
        entry = (BootEntry){};
        return 0;
}

static int forget(const char *root) {
        int r = remove_file(root, RECORD);

        remove_folder(root, RECORD_FOLDER);
        return r;
}

BootEntryKind boot_entry_detect(const char *root) {
        if (exists(root, "/usr/sbin/grubby") || exists(root, "/usr/bin/grubby"))
                return BOOT_ENTRY_GRUBBY;
        if (exists(root, "/usr/sbin/update-grub") || exists(root, "/etc/default/grub"))
                return BOOT_ENTRY_GRUB;
        if (exists(root, KERNEL_FILE) || exists(root, "/etc/kernel/install.d") ||
                exists(root, "/usr/lib/systemd/boot/efi"))
                return BOOT_ENTRY_KERNEL;
        return BOOT_ENTRY_UNKNOWN;
}

/* GRUB of Debian: shell text that update-grub reads behind /etc/default/grub. */
static int install_grub(const char *root, BootEntry *entry) {
        _cleanup_free_ char *words = NULL, *text = NULL;
        int r = util_strv_join(entry->words, " ", &words);

        /* Not GRUB_CMDLINE_LINUX: the recovery entry boots as it always did. */
        r = r
                ?: util_asprintf(&text,
                           "# Written by `rtisoctl kernel-args %s --install`; `rtisoctl kernel-args "
                           "--remove` takes it "
                           "away.\n"
                           "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT %s\"\n",
                           entry->profile, words);
        if (r == 0)
                r = make_folder(root, GRUB_FOLDER);
        if (r < 0)
                return r;
        entry->made = entry->made || r == 1;
        return write_text(root, GRUB_FILE, text);
}

static int remove_grub(const char *root, const BootEntry *entry) {
        int r = remove_file(root, GRUB_FILE);

        if (r >= 0 && entry->made)
                remove_folder(root, GRUB_FOLDER);
        return r;
}

/* What kernel-install(8) takes where there is no file: the command line of this boot, without what the boot loader
 * put there for this kernel alone. */
static int read_cmdline(const char *root, bool *ret_made, char ***ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_ char **words = NULL, **kept = NULL;
        int r = read_text(root, KERNEL_FILE, &text);

        if (r == -ENOENT) {
                *ret_made = true;
                r = read_text(root, "/usr/lib/kernel/cmdline", &text);
                if (r == -ENOENT)
                        r = read_text(root, "/proc/cmdline", &text);
        }
        r = r ?: util_strv_split(text, " \t\n", &words);
        STRV_FOREACH (word, words)
                if (r == 0 && !util_startswith(*word, "BOOT_IMAGE=") && !util_startswith(*word, "initrd="))
                        r = util_strv_push(&kept, *word);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(kept);
        return 0;
}

/* The text with words behind its last one; the white space at its end stays. */
static int append_words(const char *text, char *const *words, char **ret) {
        _cleanup_free_ char *joined = NULL;
        size_t n = strlen(text);
        int r = util_strv_join(words, " ", &joined);

        while (n > 0 && strchr(" \t\n", text[n - 1]))
                n--;
        return r ?: util_asprintf(ret, "%.*s%s%s%s", (int) n, text, n > 0 ? " " : "", joined, text + n);
}

static int install_kernel(const char *root, BootEntry *entry) {
        _cleanup_strv_ char **words = NULL;
        _cleanup_free_ char *text = NULL, *longer = NULL, *joined = NULL;
        int r = read_text(root, KERNEL_FILE, &text);

        if (r == -ENOENT) {
                r = read_cmdline(root, &entry->made, &words);
                r = r ?: util_strv_join(words, " ", &joined);
                r = r ?: util_asprintf(&text, "%s\n", joined);
        }
        r = r ?: append_words(text, entry->words, &longer);
        if (r == 0)
                r = make_folder(root, "/etc/kernel");
        return r < 0 ? r : write_text(root, KERNEL_FILE, longer);
}

/* Cuts a word out, with the space before it. */
static void cut_word(char *text, const char *word) {
        size_t n = strlen(word);

        for (char *p = strstr(text, word); p; p = strstr(p + 1, word)) {
                bool first = p == text, begins = first || strchr(" \t\n", p[-1]);

                if (!begins || (p[n] && !strchr(" \t\n", p[n])))
                        continue;
                memmove(p - !first, p + n, strlen(p + n) + 1);
                return;
        }
}

static int remove_kernel(const char *root, const BootEntry *entry) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (entry->made)
                return remove_file(root, KERNEL_FILE);
        r = read_text(root, KERNEL_FILE, &text);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        STRV_FOREACH (word, entry->words)
                cut_word(text, *word);
        return write_text(root, KERNEL_FILE, text);
}

static int do_install(const char *root, BootEntry *entry, char **ret_why) {
        switch (entry->kind) {
        case BOOT_ENTRY_GRUBBY: return run_grubby(root, "args", entry->words, ret_why);
        case BOOT_ENTRY_GRUB: return install_grub(root, entry);
        case BOOT_ENTRY_KERNEL: return install_kernel(root, entry);
        default: return -EOPNOTSUPP;
        }
}

static int do_remove(const char *root, const BootEntry *entry, char **ret_why) {
        switch (entry->kind) {
        case BOOT_ENTRY_GRUBBY: return run_grubby(root, "remove-args", entry->words, ret_why);
        case BOOT_ENTRY_GRUB: return remove_grub(root, entry);
        case BOOT_ENTRY_KERNEL: return remove_kernel(root, entry);
        default: return -EOPNOTSUPP;
        }
}

static bool same_words(char *const *a, char *const *b) {
        size_t i = 0;

        if (util_strv_length(a) != util_strv_length(b))
                return false;
        while (a && a[i] && streq(a[i], b[i]))
                i++;
        return !a || !a[i];
}

/* Words that the administrator has put there himself stay his: they are neither doubled nor taken off later. */
static int keep_others(BootEntry *entry, char *const *words, char *const *theirs) {
        int r = 0;

        STRV_FOREACH (word, words) {
                r = r ?: util_strv_push(&entry->asked, *word);
                if (r == 0 && !(theirs && util_strv_contains(theirs, *word)))
                        r = util_strv_push(&entry->words, *word);
        }
        return r;
}

/* 1 where the record of an earlier installation says that nothing is to be done. */
static int replace_earlier(
        const char *root, const char *profile, char *const *words, BootEntryKind kind, char **ret_why) {
        _cleanup_boot_entry_ BootEntry earlier = {};
        int r = boot_entry_read(root, &earlier);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (earlier.kind == kind && streq(earlier.profile, profile) && same_words(earlier.asked, words))
                return 1;
        r = do_remove(root, &earlier, ret_why);
        return r < 0 ? r : forget(root);
}

int boot_entry_install(const char *root, const char *profile, char *const *words, char **ret_why) {
        _cleanup_boot_entry_ BootEntry entry = { .kind = boot_entry_detect(root) };
        _cleanup_strv_ char **theirs = NULL;
        bool made;
        int r;

        if (entry.kind == BOOT_ENTRY_UNKNOWN)
                return -EOPNOTSUPP;
        r = replace_earlier(root, profile, words, entry.kind, ret_why);
        if (r != 0)
                return r > 0 ? 0 : r;
        r = util_copy(profile, &entry.profile);
        if (r == 0 && entry.kind == BOOT_ENTRY_KERNEL)
                r = read_cmdline(root, &made, &theirs);
        if (r == 0 && entry.kind == BOOT_ENTRY_GRUBBY)
                r = read_grubby(root, &theirs);
        r = r ?: keep_others(&entry, words, theirs);
        if (r < 0 || !entry.words)
                return r;
        r = do_install(root, &entry, ret_why);
        r = r ?: write_record(root, &entry);
        if (r == 0 && entry.kind != BOOT_ENTRY_GRUBBY)
                r = update_loader(root, entry.kind, ret_why);
        return r < 0 ? r : 1;
}

int boot_entry_remove(const char *root, char **ret_why) {
        _cleanup_boot_entry_ BootEntry entry = {};
        int r = boot_entry_read(root, &entry);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = do_remove(root, &entry, ret_why);
        r = r ?: forget(root);
        if (r == 0 && entry.kind != BOOT_ENTRY_GRUBBY)
                r = update_loader(root, entry.kind, ret_why);
        return r < 0 ? r : 1;
}
