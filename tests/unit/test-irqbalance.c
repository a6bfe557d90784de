/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "irq.h"
#include "tree.h"

/* Answers as irqbalance does: one request a connection, only for root with credentials, and a new list is
 * taken up later. */
typedef struct Server {
        int fd;
        pthread_t thread;
        unsigned n_requests; /* to serve */
        const char *setup;
        uid_t root;
        char told[256];
} Server;

static bool is_root(struct msghdr *message, uid_t root) {
        struct cmsghdr *header = CMSG_FIRSTHDR(message);
        struct ucred credentials;

        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
                return false;
        memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
        return credentials.uid == root;
}

static void *serve(void *userdata) {
        Server *server = userdata;

        for (unsigned i = 0; i < server->n_requests; i++) {
                char buffer[256] = "", control[CMSG_SPACE(sizeof(struct ucred))];
                struct iovec iov = { buffer, sizeof(buffer) - 1 };
                struct msghdr message = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
                int fd = accept(server->fd, NULL, NULL);

                if (recvmsg(fd, &message, 0) > 0 && is_root(&message, server->root)) {
                        if (strncmp(buffer, "setup", 5) == 0)
                                (void) !write(fd, server->setup, strlen(server->setup));
                        if (strncmp(buffer, "settings ", 9) == 0)
                                strcpy(server->told, buffer);
                }
                (void) close(fd);
        }
        return NULL;
}

static void server_start(Server *server, const char *directory) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int on = 1;

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance4711.sock", directory);
        server->fd = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(bind(server->fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(setsockopt(server->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
        assert_int_equal(listen(server->fd, 1), 0);
        assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(Server *server) {
        assert_int_equal(pthread_join(server->thread, NULL), 0);
        (void) close(server->fd);
}

static void test_read(void **state) {
        const struct {
                const char *setup;
                bool root;
                int error;
                const char *value;
        } table[] = {
                { "SLEEP 10 BANNED 00000000", true, 0, "" },
                { "SLEEP 10 BANNED 0000000e", true, 0, "1-3" },
                { "SLEEP 10 IRQ 5 LOAD 0 DIFF 0 CLASS 0 BANNED 00000001,00000000,00000000", true, 0, "64" },
                { "SLEEP 10 BANNED 0000000e", false, -EACCES, NULL },
                { "", true, -EACCES, NULL },
                { "SLEEP 10", true, -EBADMSG, NULL },
                { "BANNED 1", true, -EBADMSG, NULL },
                { "SLEEP 10 BANNED x", true, -EBADMSG, NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *value = NULL;
                Server server = { .n_requests = 1,
                        .setup = table[i].setup,
                        .root = table[i].root ? geteuid() : geteuid() + 1 };
                int r;

                server_start(&server, tree->root);
                assert_int_equal(irqbalance_provide_at(tree->kfs, tree->root), 0);
                r = kfs_read(tree->kfs, "irqbalance/banned", &value);
                server_stop(&server);
                if (r != table[i].error || (r >= 0 && !streq(value, table[i].value)))
                        fail_msg("\"%s\": %d, %s", table[i].setup, r, value);
        }
}

static void test_write(void **state) {
        static const struct {
                const char *value, *told;
        } table[] = {
                { "1-3", "settings cpus 1-3" },
                { "2", "settings cpus 2" },
                { "", "settings cpus NULL" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_free_ char *live = NULL;
                /* Looked at, asked how long it sleeps, told, and looked at again. */
                Server server = { .n_requests = 4, .setup = "SLEEP 10 BANNED 00000100", .root = geteuid() };

                server_start(&server, tree->root);
                assert_int_equal(irqbalance_provide_at(tree->kfs, tree->root), 0);
                assert_int_equal(
                        kfs_set(tree->kfs, "irqbalance/banned", VALUE_CPULIST, table[i].value, NULL, &live),
                        1);
                server_stop(&server);
                if (!streq(server.told, table[i].told) || !streq(live, table[i].value))
                        fail_msg("%s: %s, reads %s", table[i].value, server.told, live);
        }
}

/* What it was told counts only until it has woken up; then its own word does. */
static void test_forgotten(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *live = NULL;
        Server server = { .n_requests = 1, .setup = "SLEEP 10 BANNED 00000100", .root = geteuid() };

        tree_put(tree, "told", "0 1-3\n");
        server_start(&server, tree->root);
        assert_int_equal(irqbalance_provide_at(tree->kfs, tree->root), 0);
        assert_int_equal(kfs_read(tree->kfs, "irqbalance/banned", &live), 0);
        server_stop(&server);
        assert_string_equal(live, "8");
}

static void test_nobody(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *live = NULL;
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        assert_int_equal(irqbalance_provide_at(tree->kfs, tree->root), 0);
        assert_int_equal(kfs_read(tree->kfs, "irqbalance/banned", &live), -ENOENT);
        /* A socket that a killed one left behind. */
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance1.sock", tree->root);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        (void) close(fd);
        assert_int_equal(kfs_read(tree->kfs, "irqbalance/banned", &live), -ENOENT);
        assert_int_equal(kfs_write(tree->kfs, "irqbalance/banned", "1"), -ENOENT);
}

/* On a folder of files it is a file. */
static void test_fake(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_free_ char *live = NULL, *file = NULL;

        assert_int_equal(irqbalance_provide(tree->kfs), 0);
        assert_int_equal(kfs_read(tree->kfs, "irqbalance/banned", &live), -ENOENT);
        tree_put(tree, "run/irqbalance/banned", "2\n");
        assert_int_equal(kfs_set(tree->kfs, "irqbalance/banned", VALUE_CPULIST, "2-3", NULL, &live), 1);
        assert_string_equal(live, "2-3");
        assert_int_equal(kfs_read(tree->kfs, "/run/irqbalance/banned", &file), 0);
        assert_string_equal(file, "2-3");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read),
                cmocka_unit_test(test_write),
                cmocka_unit_test(test_forgotten),
                cmocka_unit_test(test_nobody),
                cmocka_unit_test(test_fake),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
