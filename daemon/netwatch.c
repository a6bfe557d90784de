/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "netwatch.h"

#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <sys/epoll.h>

#define SETTLE_USEC UINT64_C(300000)

struct NetWatch {
        sd_event *event;
        struct nl_sock *links, *ethtool;
        sd_event_source *links_io, *ethtool_io, *timer;
        NetWatchHandler handler;
        void *userdata;
};

static void start_timer(NetWatch *watch) {
        int enabled;

        if (sd_event_source_get_enabled(watch->timer, &enabled) > 0)
                return;
        (void) sd_event_source_set_time_relative(watch->timer, SETTLE_USEC);
        (void) sd_event_source_set_enabled(watch->timer, SD_EVENT_ONESHOT);
}

/* Interfaces of a kind (veth, bridge, vlan, …) have no hardware of their own; a container host makes and
 * unmakes them all the time. */
static bool is_virtual(struct nlmsghdr *header) {
        struct nlattr *info = nlmsg_find_attr(header, sizeof(struct ifinfomsg), IFLA_LINKINFO);

        return info && nla_find(nla_data(info), nla_len(info), IFLA_INFO_KIND);
}

static int on_link(struct nl_msg *message, void *userdata) {
        struct nlmsghdr *header = nlmsg_hdr(message);
        const struct ifinfomsg *link;

        if (header->nlmsg_type != RTM_NEWLINK || !nlmsg_valid_hdr(header, sizeof(struct ifinfomsg)))
                return NL_OK;
        link = nlmsg_data(header);
        if (link->ifi_change & IFF_UP && !is_virtual(header))
                start_timer(userdata);
        return NL_OK;
}

static int on_ethtool(struct nl_msg *message, void *userdata) {
        struct nlmsghdr *header = nlmsg_hdr(message);
        const struct genlmsghdr *event;

        if (!genlmsg_valid_hdr(header, 0))
                return NL_OK;
        event = genlmsg_hdr(header);
        if (event->cmd == ETHTOOL_MSG_CHANNELS_NTF || event->cmd == ETHTOOL_MSG_RINGS_NTF)
                start_timer(userdata);
        return NL_OK;
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        NetWatch *watch = userdata;
        struct nl_sock *socket = source == watch->links_io ? watch->links : watch->ethtool;

        /* Lost notifications might have been of interest. */
        if (nl_recvmsgs_default(socket) == -NLE_NOMEM)
                start_timer(watch);
        return 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        NetWatch *watch = userdata;

        watch->handler(watch->userdata);
        return 0;
}

static struct nl_sock *listener_new(nl_recvmsg_msg_cb_t handler, NetWatch *watch) {
        struct nl_sock *socket = nl_socket_alloc();

        if (!socket)
                return NULL;
        nl_socket_disable_seq_check(socket);
        (void) nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, handler, watch);
        return socket;
}

static int add_io(NetWatch *watch, struct nl_sock *socket, sd_event_source **ret) {
        (void) nl_socket_set_nonblocking(socket);
        return sd_event_add_io(watch->event, ret, nl_socket_get_fd(socket), EPOLLIN, on_socket, watch);
}

static int watch_links(NetWatch *watch) {
        watch->links = listener_new(on_link, watch);
        if (!watch->links)
                return -ENOMEM;
        if (nl_connect(watch->links, NETLINK_ROUTE) < 0 ||
                nl_socket_add_membership(watch->links, RTNLGRP_LINK) < 0)
                return -EPROTONOSUPPORT;
        return add_io(watch, watch->links, &watch->links_io);
}

/* Kernels without ethtool's netlink family are no worse off than before. */
static int watch_ethtool(NetWatch *watch) {
        int group;

        watch->ethtool = listener_new(on_ethtool, watch);
        if (!watch->ethtool)
                return -ENOMEM;
        if (genl_connect(watch->ethtool) < 0)
                return -EPROTONOSUPPORT;
        group = genl_ctrl_resolve_grp(watch->ethtool, ETHTOOL_GENL_NAME, ETHTOOL_MCGRP_MONITOR_NAME);
        if (group < 0 || nl_socket_add_membership(watch->ethtool, group) < 0)
                return 0;
        return add_io(watch, watch->ethtool, &watch->ethtool_io);
}

int net_watch_new(sd_event *event, NetWatchHandler handler, void *userdata, NetWatch **ret) {
        _cleanup_net_watch_ NetWatch *watch = calloc(1, sizeof(NetWatch));
        int r;

        if (!watch)
                return -ENOMEM;
        *watch = (NetWatch){ .event = sd_event_ref(event), .handler = handler, .userdata = userdata };
        r = sd_event_add_time_relative(
                event, &watch->timer, CLOCK_MONOTONIC, SETTLE_USEC, 0, on_settled, watch);
        if (r >= 0)
                r = sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF);
        if (r >= 0)
                r = watch_links(watch);
        if (r >= 0)
                r = watch_ethtool(watch);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(watch);
        return 0;
}

void net_watch_free(NetWatch *watch) {
        if (!watch)
                return;
        (void) sd_event_source_disable_unref(watch->links_io);
        (void) sd_event_source_disable_unref(watch->ethtool_io);
        (void) sd_event_source_disable_unref(watch->timer);
        nl_socket_free(watch->links);
        nl_socket_free(watch->ethtool);
        sd_event_unref(watch->event);
        free(watch);
}
