/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "cpulist.h"
#include "irq.h"
#include "kfs-provider.h"
#include "protocol.h"

#define FAKE_FILE "/run/irqbalance/banned"
#define ANSWER_MAX (1024 * 1024)
#define TIMEOUT_S 5

typedef struct Irqbalance {
        char *directory; /* of the sockets; NULL: a root that is only files */
        char *note;      /* `UNTIL CPULIST`: what irqbalance was told and may not have taken up yet */
} Irqbalance;

static void irqbalance_free(void *userdata) {
        Irqbalance *irqbalance = userdata;

        free(irqbalance->directory);
        free(irqbalance->note);
        free(irqbalance);
}

static uint64_t boot_seconds(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_BOOTTIME, &ts);
        return (uint64_t) ts.tv_sec;
}

static int socket_connect(const char *directory, const char *name) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const struct timeval timeout = { .tv_sec = TIMEOUT_S };
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (fd < 0)
                return -errno;
        if ((size_t) snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name) >=
                sizeof(address.sun_path))
                return -ENAMETOOLONG;
        if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
                setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* The socket is named after the process; one that nobody listens on was left behind. */
static int irqbalance_connect(const Irqbalance *irqbalance) {
        DIR *dir = opendir(irqbalance->directory);
        int fd = -ENOENT;

        if (!dir)
                return -errno;
        for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
                if (fnmatch("irqbalance*.sock", entry->d_name, 0) != 0)
                        continue;
                fd = socket_connect(irqbalance->directory, entry->d_name);
                if (fd >= 0)
                        break;
                fd = fd == -ECONNREFUSED ? -ENOENT : fd;
        }
        (void) closedir(dir);
        return fd;
}

/* It answers only who shows to be root. */
static int send_request(int fd, const char *request) {
        const struct ucred self = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
        union {
                char buffer[CMSG_SPACE(sizeof(struct ucred))];
                struct cmsghdr align;
        } control = {};
        struct iovec iov = { .iov_base = (void *) request, .iov_len = strlen(request) };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(struct ucred));
        memcpy(CMSG_DATA(header), &self, sizeof(self));
        if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
                return -errno;
        return 0;
}

static int receive_answer(int fd, char **ret) {
        _cleanup_free_ char *answer = NULL;
        size_t n = 0;

        for (;;) {
                char *grown = realloc(answer, n + 4096 + 1);
                ssize_t got;

                if (!grown)
                        return -ENOMEM;
                answer = grown;
                got = recv(fd, answer + n, 4096, 0);
                if (got < 0 && errno == EINTR)
                        continue;
                /* It closes with the request unread when it does not like who asks. */
                if (got < 0)
                        return errno == EAGAIN ? -ETIMEDOUT : errno == ECONNRESET ? -EACCES : -errno;
                if (got == 0)
                        break;
                n += (size_t) got;
                if (n > ANSWER_MAX)
                        return -EMSGSIZE;
        }
        answer[n] = '\0';
        *ret = TAKE_PTR(answer);
        return 0;
}

static int irqbalance_setup(const Irqbalance *irqbalance, char **ret) {
        _cleanup_close_ int fd = irqbalance_connect(irqbalance);
        int r;

        if (fd < 0)
                return fd;
        r = send_request(fd, "setup");
        return r < 0 ? r : receive_answer(fd, ret);
}

/* `SLEEP 10 IRQ 5 LOAD … BANNED 00000000,0000000e` */
static int parse_setup(const char *answer, unsigned *ret_sleep, CpuList *ret_banned) {
        const char *banned = strstr(answer, "BANNED ");
        unsigned sleep;
        int r;

        if (!*answer)
                return -EACCES;
        if (!banned || sscanf(answer, "SLEEP %u", &sleep) != 1)
                return -EBADMSG;
        r = cpulist_parse_mask(banned + strlen("BANNED "), ret_banned);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        *ret_sleep = sleep;
        return 0;
}

/* What it was told a moment ago, or -ENOENT. */
static int read_note(const Irqbalance *irqbalance, CpuList *ret) {
        FILE *f = fopen(irqbalance->note, "re");
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        uint64_t until;
        int start = 0;

        if (!f)
                return -errno;
        if (getline(&line, &size, f) < 0 || sscanf(line, "%" SCNu64 "%n", &until, &start) != 1 ||
                boot_seconds() > until)
                start = 0;
        (void) fclose(f);
        return start ? cpulist_parse(line + start, ret, NULL) : -ENOENT;
}

static int write_note(const Irqbalance *irqbalance, unsigned sleep, const char *value) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        int r;

        r = util_asprintf(&text, "%" PRIu64 " %s\n", boot_seconds() + sleep + 1, value);
        if (r < 0)
                return r;
        fd = open(irqbalance->note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : util_write_all(fd, text, strlen(text));
}

static int irqbalance_read(Kfs *kfs, void *userdata, const char *object, char **ret) {
        const Irqbalance *irqbalance = userdata;
        _cleanup_cpulist_ CpuList banned = {}, told = {};
        _cleanup_free_ char *answer = NULL;
        unsigned sleep;
        int r;

        if (!streq(object, "irqbalance/banned"))
                return -ENOENT;
        if (!irqbalance->directory)
                return kfs_peek(kfs, FAKE_FILE, ret);
        r = irqbalance_setup(irqbalance, &answer);
        r = r ?: parse_setup(answer, &sleep, &banned);
        if (r < 0)
                return r;
        r = read_note(irqbalance, &told);
        return cpulist_format(r == 0 ? &told : &banned, ret);
}

static int irqbalance_write(Kfs *kfs, void *userdata, const char *object, const char *value) {
        const Irqbalance *irqbalance = userdata;
        _cleanup_cpulist_ CpuList list = {};
        _cleanup_free_ char *request = NULL, *answer = NULL;
        _cleanup_close_ int fd = -1;
        unsigned sleep = 0;
        int r;

        if (!streq(object, "irqbalance/banned"))
                return -ENOENT;
        if (!irqbalance->directory)
                return kfs_poke(kfs, FAKE_FILE, value);
        r = cpulist_parse(value, &list, NULL);
        cpulist_done(&list);
        r = r ?: irqbalance_setup(irqbalance, &answer);
        r = r ?: parse_setup(answer, &sleep, &list);
        r = r ?: util_asprintf(&request, "settings cpus %s", *value ? value : "NULL");
        if (r < 0)
                return r;
        fd = irqbalance_connect(irqbalance);
        if (fd < 0)
                return fd;
        r = send_request(fd, request);
        return r ?: write_note(irqbalance, sleep, value);
}

static int provide(Kfs *kfs, const char *directory, const char *note) {
        static const KfsProvider provider = {
                .scheme = "irqbalance",
                .read = irqbalance_read,
                .write = irqbalance_write,
                .free = irqbalance_free,
        };
        Irqbalance *irqbalance = calloc(1, sizeof(Irqbalance));
        int r = irqbalance ? 0 : -ENOMEM;

        if (r == 0 && directory) {
                r = util_asprintf(&irqbalance->directory, "%s", directory);
                r = r ?: util_asprintf(&irqbalance->note, "%s", note);
        }
        r = r ?: kfs_provide(kfs, &provider, irqbalance);
        if (r < 0 && irqbalance)
                irqbalance_free(irqbalance);
        return r;
}

int irqbalance_provide(Kfs *kfs) {
        bool live = kfs_is_live(kfs);

        return provide(kfs, live ? "/run/irqbalance" : NULL, RTISOL_RUNTIME_DIR "/irqbalance");
}

int irqbalance_provide_at(Kfs *kfs, const char *directory) {
        _cleanup_free_ char *note = NULL;
        int r = util_asprintf(&note, "%s/told", directory);

        return r < 0 ? r : provide(kfs, directory, note);
}
