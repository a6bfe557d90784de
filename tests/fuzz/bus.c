/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ftw.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon.h"
#include "fuzz.h"
#include "manager.h"
#include "protocol.h"
#include "test.h"
#include "tree.h"

/* The private socket of a whole daemon on a machine of files.  An input that begins with `call` is a message: lines
 * with the member and the signature, and a body of any bytes.  Anything else is sent as it is.  Whatever was said,
 * the next one is answered. */

static Tree *tree;
static sd_event *event;
static Daemon *daemon_;
static char *runtime, *socket_path;

static void clean_up(void) {
        daemon_free(daemon_);
        sd_event_unref(event);
        tree_free(tree);
}

static void make_daemon(void) {
        DaemonOptions options = { .uid = getuid() };
        sigset_t signals;

        if (tree)
                return;
        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigaddset(&signals, SIGINT);
        FUZZ_HOLDS(sigprocmask(SIG_BLOCK, &signals, NULL) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
        tree = tree_new();
        tree_put_cpus(tree, 1, 4, 1, false);
        tree_fill(tree,
                "/proc/sys/kernel/random/boot_id=11111111-2222-3333-4444-555555555555\n"
                "/proc/sys/kernel/osrelease=6.12.0-test\n"
                "/proc/sys/vm/stat_interval=1\n"
                "/sys/fs/cgroup/cgroup.controllers=cpuset cpu\n"
                "/sys/fs/cgroup/cgroup.subtree_control=cpuset cpu\n"
                "/sys/fs/cgroup/cgroup.procs=\n"
                "/sys/fs/cgroup/cpuset.cpus.effective=0-3\n");
        tree_put(tree, "/etc/rtisold/profiles/quick.ini", "[sysctl]\nvm.stat_interval = 10\n");
        FUZZ_HOLDS(util_asprintf(&runtime, "%s/run", tree->root) == 0 && mkdir(runtime, 0755) == 0);
        FUZZ_HOLDS(util_asprintf(&socket_path, "%s/private", runtime) == 0);
        options.paths = (ManagerPaths){ tree->root, runtime };
        options.socket = socket_path;
        FUZZ_HOLDS(sd_event_new(&event) >= 0 && daemon_new(&options, event, &daemon_) >= 0);
        FUZZ_HOLDS(atexit(clean_up) == 0);
}

/* All that can be done at once. */
static void settle(void) {
        for (int i = 0; i < 1000 && sd_event_run(event, 0) > 0; i++)
                ;
}

static int join(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        FUZZ_HOLDS(fd >= 0 && strlen(socket_path) < sizeof(address.sun_path));
        (void) strcpy(address.sun_path, socket_path);
        FUZZ_HOLDS(connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0);
        return fd;
}

static void say(int fd, const void *data, size_t size) {
        (void) !send(fd, data, size, MSG_NOSIGNAL);
        settle();
}

#define GREETING "\0AUTH ANONYMOUS 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"

/* Header fields: an array of structs of a byte and a variant, each struct on a multiple of 8. */
typedef struct Header {
        uint8_t bytes[4096];
        size_t n;
} Header;

static void header_align(Header *header, size_t to) {
        while (header->n % to != 0)
                header->bytes[header->n++] = 0;
}

static void header_u32(Header *header, uint32_t value) {
        header_align(header, 4);
        memcpy(header->bytes + header->n, &value, 4);
        header->n += 4;
}

static void header_field(Header *header, uint8_t code, char type, const char *text) {
        const uint8_t start[] = { code, 1, (uint8_t) type, 0 };

        header_align(header, 8);
        memcpy(header->bytes + header->n, start, sizeof(start));
        header->n += sizeof(start);
        if (type == 'g')
                header->bytes[header->n++] = (uint8_t) strlen(text);
        else
                header_u32(header, (uint32_t) strlen(text));
        memcpy(header->bytes + header->n, text, strlen(text) + 1);
        header->n += strlen(text) + 1;
}

static void make_header(Header *header, const char *member, const char *signature, size_t body) {
        bool property = !strncmp(member, "Get", 3) || streq(member, "Set");
        size_t fields;

        *header = (Header){ .bytes = { 'l', 1, 0, 1 }, .n = 4 };
        header_u32(header, (uint32_t) body);
        header_u32(header, 7);
        header_u32(header, 0);
        fields = header->n;
        header_field(header, 1, 'o', RTISOL_OBJECT);
        header_field(header, 2, 's', property ? "org.freedesktop.DBus.Properties" : RTISOL_INTERFACE);
        header_field(header, 3, 's', member);
        if (*signature)
                header_field(header, 8, 'g', signature);
        memcpy(header->bytes + fields - 4, &(uint32_t){ (uint32_t) (header->n - fields) }, 4);
        header_align(header, 8);
}

/* The input's lines are cut out of it: false where there are none. */
static bool take_line(const uint8_t **data, size_t *size, char *ret, size_t room) {
        const uint8_t *newline = memchr(*data, '\n', *size);
        size_t n = newline ? (size_t) (newline - *data) : 0;

        if (!newline || n >= room || memchr(*data, 0, n))
                return false;
        memcpy(ret, *data, n);
        ret[n] = '\0';
        *data = newline + 1;
        *size -= n + 1;
        return true;
}

static void call(int fd, const uint8_t *data, size_t size) {
        char word[8], member[200], signature[200];
        Header header;

        if (!take_line(&data, &size, word, sizeof(word)) ||
                !take_line(&data, &size, member, sizeof(member)) ||
                !take_line(&data, &size, signature, sizeof(signature)))
                return;
        say(fd, GREETING, sizeof(GREETING) - 1);
        make_header(&header, member, signature, size);
        say(fd, header.bytes, header.n);
        say(fd, data, size);
}

/* Somebody else asks for the mode and is answered. */
static void check_alive(void) {
        static const uint8_t get[] = "call\nGet\nss\n\x16\0\0\0org.rtisold.Manager1\0\0\0\0\4\0\0\0Mode";
        char answer[4096];
        int fd = join();
        ssize_t n;

        call(fd, get, sizeof(get));
        n = recv(fd, answer, sizeof(answer), 0);
        FUZZ_HOLDS(n > 0);
        (void) close(fd);
        settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static unsigned runs;
        int fd;

        make_daemon();
        fd = join();
        settle();
        if (size > 5 && memcmp(data, "call\n", 5) == 0)
                call(fd, data, size);
        else
                say(fd, data, size);
        (void) close(fd);
        settle();
        if (runs++ % 64 == 0)
                check_alive();
        return 0;
}
