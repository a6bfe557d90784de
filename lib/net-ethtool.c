/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/ethtool_netlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

#include "net.h"

/* One question and its answer. */
typedef struct Exchange {
        struct nl_sock *socket;
        int family;
        int error; /* the kernel's errno, negative; 0 */
        bool done;
        NetChannels counts, most;
} Exchange;

static void exchange_done(Exchange *exchange) {
        nl_socket_free(exchange->socket);
}

static int on_error(struct sockaddr_nl *address, struct nlmsgerr *error, void *userdata) {
        Exchange *exchange = userdata;

        exchange->error = error->error;
        exchange->done = true;
        return NL_STOP;
}

static int on_acknowledged(struct nl_msg *message, void *userdata) {
        Exchange *exchange = userdata;

        exchange->done = true;
        return NL_STOP;
}

static unsigned number_of(struct nlattr *const *attributes, int which) {
        return attributes[which] ? nla_get_u32(attributes[which]) : 0;
}

/* A kind that the device cannot have is left out of the answer. */
static int on_channels(struct nl_msg *message, void *userdata) {
        struct nlattr *attributes[ETHTOOL_A_CHANNELS_MAX + 1] = {};
        Exchange *exchange = userdata;

        if (genlmsg_parse(nlmsg_hdr(message), 0, attributes, ETHTOOL_A_CHANNELS_MAX, NULL) < 0)
                return NL_SKIP;
        exchange->counts = (NetChannels){
                .combined = number_of(attributes, ETHTOOL_A_CHANNELS_COMBINED_COUNT),
                .rx = number_of(attributes, ETHTOOL_A_CHANNELS_RX_COUNT),
                .tx = number_of(attributes, ETHTOOL_A_CHANNELS_TX_COUNT),
        };
        exchange->most = (NetChannels){
                .combined = number_of(attributes, ETHTOOL_A_CHANNELS_COMBINED_MAX),
                .rx = number_of(attributes, ETHTOOL_A_CHANNELS_RX_MAX),
                .tx = number_of(attributes, ETHTOOL_A_CHANNELS_TX_MAX),
        };
        return NL_OK;
}

/* Opened for each exchange: nothing in force hangs on a descriptor. */
static int exchange_open(Exchange *exchange) {
        exchange->socket = nl_socket_alloc();
        if (!exchange->socket)
                return -ENOMEM;
        if (genl_connect(exchange->socket) < 0)
                return -EPROTONOSUPPORT;
        exchange->family = genl_ctrl_resolve(exchange->socket, ETHTOOL_GENL_NAME);
        return exchange->family < 0 ? -EPROTONOSUPPORT : 0;
}

static int put_device(struct nl_msg *message, unsigned index) {
        struct nlattr *header = nla_nest_start(message, ETHTOOL_A_CHANNELS_HEADER | NLA_F_NESTED);

        if (!header || nla_put_u32(message, ETHTOOL_A_HEADER_DEV_INDEX, index) < 0)
                return -ENOMEM;
        (void) nla_nest_end(message, header);
        return 0;
}

static int put_counts(struct nl_msg *message, const NetChannels *channels) {
        if (nla_put_u32(message, ETHTOOL_A_CHANNELS_COMBINED_COUNT, channels->combined) < 0 ||
                nla_put_u32(message, ETHTOOL_A_CHANNELS_RX_COUNT, channels->rx) < 0 ||
                nla_put_u32(message, ETHTOOL_A_CHANNELS_TX_COUNT, channels->tx) < 0)
                return -ENOMEM;
        return 0;
}

static int exchange_wait(Exchange *exchange) {
        (void) nl_socket_modify_err_cb(exchange->socket, NL_CB_CUSTOM, on_error, exchange);
        (void) nl_socket_modify_cb(exchange->socket, NL_CB_VALID, NL_CB_CUSTOM, on_channels, exchange);
        (void) nl_socket_modify_cb(exchange->socket, NL_CB_ACK, NL_CB_CUSTOM, on_acknowledged, exchange);
        while (!exchange->done) {
                int r = nl_recvmsgs_default(exchange->socket);

                if (r < 0 && !exchange->done)
                        return r == -NLE_NOMEM ? -ENOMEM : -EIO;
        }
        return exchange->error;
}

/* channels: what to set; NULL: ask what there is. */
static int exchange_run(Exchange *exchange, unsigned index, const NetChannels *channels) {
        struct nl_msg *message;
        int r = exchange_open(exchange);

        if (r < 0)
                return r;
        message = nlmsg_alloc();
        if (!message)
                return -ENOMEM;
        if (!genlmsg_put(message, NL_AUTO_PORT, NL_AUTO_SEQ, exchange->family, 0, 0,
                    channels ? ETHTOOL_MSG_CHANNELS_SET : ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_GENL_VERSION))
                r = -ENOMEM;
        r = r ?: put_device(message, index);
        r = r ?: (channels ? put_counts(message, channels) : 0);
        if (r >= 0 && nl_send_auto(exchange->socket, message) < 0)
                r = -EIO;
        nlmsg_free(message);
        return r < 0 ? r : exchange_wait(exchange);
}

int net_ethtool_read(unsigned index, bool most, NetChannels *ret) {
        _cleanup_(exchange_done) Exchange exchange = {};
        int r = exchange_run(&exchange, index, NULL);

        if (r < 0)
                return r;
        *ret = most ? exchange.most : exchange.counts;
        return 0;
}

int net_ethtool_write(unsigned index, const NetChannels *channels) {
        _cleanup_(exchange_done) Exchange exchange = {};

        return exchange_run(&exchange, index, channels);
}

int net_ethtool_probe(void) {
        _cleanup_(exchange_done) Exchange exchange = {};

        return exchange_open(&exchange);
}
