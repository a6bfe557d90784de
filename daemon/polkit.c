/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "polkit.h"

/* A user may take his time at the password prompt. */
#define ANSWER_TIMEOUT_USEC (5 * 60 * UINT64_C(1000000))

typedef struct Query {
        PolkitAnswer answer;
        void *userdata;
        bool answered;
} Query;

/* Freed with the connection: who waits is told then. */
static void query_free(void *userdata) {
        Query *query = userdata;

        if (!query->answered)
                query->answer(query->userdata, -ECANCELED);
        free(query);
}

static int read_answer(sd_bus_message *reply) {
        int authorized, r;

        if (sd_bus_message_is_method_error(reply, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                return 0;
        if (sd_bus_message_is_method_error(reply, NULL))
                return -sd_bus_message_get_errno(reply);
        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(reply, "b", &authorized);
        return r < 0 ? r : authorized != 0;
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Query *query = userdata;

        query->answered = true;
        query->answer(query->userdata, read_answer(reply));
        return 0;
}

static int is_root(sd_bus_message *message) {
        __attribute__((cleanup(sd_bus_creds_unrefp))) sd_bus_creds *creds = NULL;
        uid_t uid;
        int r = sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID, &creds);

        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, &uid);
        return r < 0 ? r : uid == 0;
}

static int ask(sd_bus *bus, sd_bus_message *message, const char *action, Query *query) {
        __attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *call = NULL;
        const char *sender = sd_bus_message_get_sender(message);
        unsigned flags = sd_bus_message_get_allow_interactive_authorization(message) > 0;
        sd_bus_slot *slot;
        int r;

        if (!sender)
                return -EBADMSG;
        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.PolicyKit1",
                "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority",
                "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                        sender, action, 0, flags, "");
        if (r >= 0)
                r = sd_bus_call_async(bus, &slot, call, on_reply, query, ANSWER_TIMEOUT_USEC);
        if (r < 0)
                return r;
        /* The slot belongs to the connection and frees the query with itself, answered or not. */
        (void) sd_bus_slot_set_destroy_callback(slot, query_free);
        (void) sd_bus_slot_set_floating(slot, 1);
        sd_bus_slot_unref(slot);
        return 0;
}

int polkit_check(
        sd_bus *bus, sd_bus_message *message, const char *action, PolkitAnswer answer, void *userdata) {
        _cleanup_free_ Query *query = NULL;
        int r = is_root(message);

        if (r < 0)
                return r;
        if (r > 0) {
                answer(userdata, 1);
                return 0;
        }
        query = calloc(1, sizeof(Query));
        if (!query)
                return -ENOMEM;
        *query = (Query){ answer, userdata, false };
        r = ask(bus, message, action, query);
        if (r < 0)
                return r;
        query = NULL;
        return 0;
}
