/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "procevents.h"

#include <arpa/inet.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define KTHREADD_PID 2
#define RECEIVE_BUFFER (512 * 1024)
/* Then others have their turn. */
#define EVENTS_AT_ONCE 256

/* A message is the netlink header, the connector's, and the event. */
#define CONNECTOR_AT NLMSG_HDRLEN
#define EVENT_AT (CONNECTOR_AT + sizeof(struct cn_msg))

struct ProcEvents {
        struct nl_sock *socket;
        sd_event_source *source;
        ProcEventsHandlers handlers;
        void *userdata;
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, EVENT_AT + offsetof(struct proc_event, field))
/* The filter's loads are big-endian, the messages are not. */
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl((uint32_t) (value)), (yes), (no))
#define PASS BPF_STMT(BPF_RET | BPF_K, 0xffffffff)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)
/* No event has this number: it stands for one that is not wanted. */
#define NEVER 0x7fffffff

int proc_events_want(ProcEvents *events, unsigned wanted) {
        uint32_t exec = wanted & PROC_EVENTS_EXEC ? PROC_EVENT_EXEC : NEVER;
        uint32_t comm = wanted & PROC_EVENTS_COMM ? PROC_EVENT_COMM : NEVER;
        uint32_t fork = wanted & PROC_EVENTS_KTHREAD ? PROC_EVENT_FORK : NEVER;
        struct sock_filter filter[] = {
                LOAD(what),
                EQUAL(exec, 4, 0),
                EQUAL(comm, 3, 0),
                EQUAL(fork, 0, 3),
                LOAD(event_data.fork.parent_tgid),
                EQUAL(KTHREADD_PID, 0, 1),
                PASS,
                DROP,
        };
        struct sock_fprog program = { ARRAY_SIZE(filter), filter };

        if (setsockopt(nl_socket_get_fd(events->socket), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                    sizeof(program)) < 0)
                return -errno;
        return 0;
}

static void handle_event(ProcEvents *events, const struct proc_event *event) {
        switch (event->what) {
        case PROC_EVENT_EXEC:
                events->handlers.exec(events->userdata, event->event_data.exec.process_tgid);
                break;
        case PROC_EVENT_COMM: {
                char comm[sizeof(event->event_data.comm.comm) + 1] = {};

                memcpy(comm, event->event_data.comm.comm, sizeof(comm) - 1);
                events->handlers.comm(events->userdata, event->event_data.comm.process_tgid,
                        event->event_data.comm.process_pid, comm);
                break;
        }
        case PROC_EVENT_FORK:
                if (event->event_data.fork.parent_tgid == KTHREADD_PID)
                        events->handlers.kthread(events->userdata, event->event_data.fork.child_pid);
                break;
        default: break;
        }
}

static void handle_message(ProcEvents *events, const char *message, size_t size) {
        struct cn_msg connector;
        struct proc_event event;

        if (size < EVENT_AT + sizeof(event))
                return;
        memcpy(&connector, message + CONNECTOR_AT, sizeof(connector));
        memcpy(&event, message + EVENT_AT, sizeof(event));
        if (connector.id.idx == CN_IDX_PROC)
                handle_event(events, &event);
}

static int on_message(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        ProcEvents *events = userdata;

        for (int i = 0; i < EVENTS_AT_ONCE; i++) {
                struct sockaddr_nl sender = {};
                socklen_t size = sizeof(sender);
                char message[1024];
                ssize_t n = recvfrom(
                        fd, message, sizeof(message), MSG_DONTWAIT, (struct sockaddr *) &sender, &size);

                if (n < 0 && errno == ENOBUFS) {
                        events->handlers.lost(events->userdata);
                        continue;
                }
                if (n < 0)
                        return 0;
                /* Only the kernel is port 0. */
                if (sender.nl_pid == 0)
                        handle_message(events, message, (size_t) n);
        }
        return 0;
}

static int send_op(int fd, enum proc_cn_mcast_op op) {
        const struct cn_msg connector = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(op) };
        char request[EVENT_AT + sizeof(op)];
        const struct nlmsghdr header = { .nlmsg_len = sizeof(request), .nlmsg_type = NLMSG_DONE };

        memcpy(request, &header, sizeof(header));
        memcpy(request + CONNECTOR_AT, &connector, sizeof(connector));
        memcpy(request + EVENT_AT, &op, sizeof(op));
        return send(fd, request, sizeof(request), 0) < 0 ? -errno : 0;
}

static int connect_events(ProcEvents *events, unsigned wanted) {
        int r;

        events->socket = nl_socket_alloc();
        if (!events->socket)
                return -ENOMEM;
        if (nl_connect(events->socket, NETLINK_CONNECTOR) < 0)
                return errno > 0 ? -errno : -EPROTONOSUPPORT;
        (void) nl_socket_set_buffer_size(events->socket, RECEIVE_BUFFER, 0);
        r = proc_events_want(events, wanted);
        if (r < 0)
                return r;
        if (nl_socket_add_membership(events->socket, CN_IDX_PROC) < 0)
                return errno > 0 ? -errno : -EPERM;
        return send_op(nl_socket_get_fd(events->socket), PROC_CN_MCAST_LISTEN);
}

int proc_events_new(sd_event *event, unsigned wanted, const ProcEventsHandlers *handlers, void *userdata,
        ProcEvents **ret) {
        _cleanup_proc_events_ ProcEvents *events = calloc(1, sizeof(ProcEvents));
        int r;

        if (!events)
                return -ENOMEM;
        events->handlers = *handlers;
        events->userdata = userdata;
        r = connect_events(events, wanted);
        if (r >= 0)
                r = sd_event_add_io(event, &events->source, nl_socket_get_fd(events->socket), EPOLLIN,
                        on_message, events);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(events);
        return 0;
}

void proc_events_free(ProcEvents *events) {
        if (!events)
                return;
        if (events->socket) {
                /* Before 6.6 the kernel counts listeners and does not see one close: with one too many it goes on
                 * telling of every process for ever. */
                if (events->source)
                        (void) send_op(nl_socket_get_fd(events->socket), PROC_CN_MCAST_IGNORE);
                (void) sd_event_source_disable_unref(events->source);
                nl_socket_free(events->socket);
        }
        free(events);
}
