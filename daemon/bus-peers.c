/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "bus-internal.h"
#include "log.h"
#include "protocol.h"

/* How long the bus may be away before it is looked for again. */
#define RECONNECT_USEC UINT64_C(1000000)
/* More root clients at once than this are a mistake: then the one that has been silent for longest makes room, and
 * those who never said anything before all others. */
#define CLIENTS_MAX 64

int bus_new(sd_event *event, Manager *manager, Drift *drift, Bus **ret) {
        Bus *bus = calloc(1, sizeof(Bus));

        if (!bus)
                return -ENOMEM;
        *bus = (Bus){ .event = sd_event_ref(event), .manager = manager, .drift = drift };
        *ret = bus;
        return 0;
}

void bus_free(Bus *bus) {
        if (!bus)
                return;
        (void) sd_event_source_disable_unref(bus->reconnect);
        (void) sd_event_source_disable_unref(bus->listener);
        for (size_t i = 0; i < bus->n_clients; i++)
                (void) sd_bus_flush_close_unref(bus->clients[i].connection);
        free(bus->clients);
        if (bus->system)
                (void) sd_bus_flush_close_unref(bus->system);
        if (bus->path)
                (void) unlink(bus->path);
        free(bus->path);
        sd_event_unref(bus->event);
        free(bus);
}

static int watch_disconnect(sd_bus *connection, sd_bus_message_handler_t handler, Bus *bus) {
        return sd_bus_match_signal_async(connection, NULL, "org.freedesktop.DBus.Local",
                "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local", "Disconnected", handler, NULL,
                bus);
}

static BusClient *client_find(const Bus *bus, const sd_bus *connection) {
        for (size_t i = 0; i < bus->n_clients; i++)
                if (bus->clients[i].connection == connection)
                        return &bus->clients[i];
        return NULL;
}

static void client_drop(Bus *bus, BusClient *client) {
        sd_bus *connection = client->connection;

        memmove(client, client + 1,
                (size_t) (bus->clients + bus->n_clients - client - 1) * sizeof(BusClient));
        bus->n_clients--;
        (void) sd_bus_close_unref(connection);
}

static int on_client_gone(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        BusClient *client = client_find(bus, sd_bus_message_get_bus(message));

        if (client)
                client_drop(bus, client);
        return 0;
}

/* Who asks and asks and reads no answer goes, before the answers fill the memory. */
static int on_client_heard(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
        BusClient *client = client_find(bus, sd_bus_message_get_bus(message));
        uint64_t waiting = 0;

        if (!client)
                return 0;
        client->heard = ++bus->heard;
        if (sd_bus_get_n_queued_write(client->connection, &waiting) < 0 || waiting < CLIENT_WAITING_MAX)
                return 0;
        log_plain(LOG_NOTICE, "A client on the private socket that reads no answers was dropped.");
        client_drop(bus, client);
        return 1;
}

static int client_new(Bus *bus, int *fd, sd_bus **ret) {
        __attribute__((cleanup(sd_bus_close_unrefp))) sd_bus *client = NULL;
        sd_id128_t id;
        int r = sd_bus_new(&client);

        if (r >= 0)
                r = sd_id128_randomize(&id);
        if (r >= 0)
                r = sd_bus_set_fd(client, *fd, *fd);
        if (r < 0)
                return r;
        *fd = -1; /* the connection owns it now */
        r = sd_bus_set_server(client, 1, id);
        if (r >= 0)
                r = sd_bus_negotiate_fds(client, 1);
        if (r >= 0)
                r = sd_bus_negotiate_creds(
                        client, 1, SD_BUS_CREDS_PID | SD_BUS_CREDS_UID | SD_BUS_CREDS_EUID);
        if (r >= 0)
                r = sd_bus_set_anonymous(client, 1);
        if (r >= 0)
                r = sd_bus_start(client);
        if (r >= 0)
                r = bus_offer(bus, client);
        if (r >= 0)
                r = watch_disconnect(client, on_client_gone, bus);
        if (r >= 0)
                r = sd_bus_add_filter(client, NULL, on_client_heard, bus);
        if (r >= 0)
                r = sd_bus_attach_event(client, bus->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(client);
        return 0;
}

static int client_check(const Bus *bus, int fd) {
        struct ucred ucred;
        socklen_t size = sizeof(ucred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &size) < 0)
                return -errno;
        return ucred.uid == bus->uid ? 0 : -EPERM;
}

/* Whoever waits for an answer has just spoken; a lease does not hang on its client's connection. */
static void clients_make_room(Bus *bus) {
        BusClient *silent = bus->clients;

        if (bus->n_clients < CLIENTS_MAX)
                return;
        for (size_t i = 1; i < bus->n_clients; i++)
                if (bus->clients[i].heard < silent->heard)
                        silent = &bus->clients[i];
        client_drop(bus, silent);
}

static int client_accept(Bus *bus, int *fd) {
        sd_bus *client;
        int r = client_check(bus, *fd);

        if (r < 0)
                return r;
        clients_make_room(bus);
        r = GROW(bus->clients, bus->n_clients);
        r = r < 0 ? r : client_new(bus, fd, &client);
        if (r < 0)
                return r;
        bus->clients[bus->n_clients++] = (BusClient){ client, 0 };
        return 0;
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        _cleanup_close_ int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        int r;

        if (connection < 0)
                return 0;
        r = client_accept(userdata, &connection);
        /* Who only looks whether somebody is here is gone already. */
        if (r < 0 && r != -ECONNRESET && r != -EPIPE)
                log_plain(
                        LOG_NOTICE, "A connection to the private socket was turned away: %s.", strerror(-r));
        return 0;
}

int bus_listen(Bus *bus, const char *path, uid_t uid) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -1;
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        bus->path = strdup(path);
        if (!bus->path)
                return -ENOMEM;
        bus->uid = uid;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void) unlink(path);
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
                listen(fd, 16) < 0)
                return -errno;
        r = sd_event_add_io(bus->event, &bus->listener, fd, EPOLLIN, on_connection, bus);
        if (r < 0)
                return r;
        (void) sd_event_source_set_io_fd_own(bus->listener, 1);
        fd = -1;
        return 0;
}

int bus_listen_again(Bus *bus) {
        _cleanup_free_ char *path = NULL;

        if (!bus->path || access(bus->path, F_OK) == 0)
                return 0;
        bus->listener = sd_event_source_disable_unref(bus->listener);
        path = TAKE_PTR(bus->path);
        return bus_listen(bus, path, bus->uid);
}

static int on_reconnect(sd_event_source *source, uint64_t usec, void *userdata) {
        Bus *bus = userdata;

        (void) bus_connect(bus);
        return 0;
}

static int on_system_gone(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;

        log_plain(LOG_NOTICE, "The system bus went away; the private socket goes on.");
        bus->system = sd_bus_close_unref(bus->system);
        bus->reconnect = sd_event_source_disable_unref(bus->reconnect);
        return sd_event_add_time_relative(
                bus->event, &bus->reconnect, CLOCK_MONOTONIC, RECONNECT_USEC, 0, on_reconnect, bus);
}

static int on_name(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *refusal = sd_bus_message_get_error(reply);

        if (refusal)
                log_plain(LOG_ERR, "The name " RTISOL_BUS_NAME " on the system bus is not to be had: %s",
                        refusal->message ?: refusal->name);
        return 0;
}

/* The bus may come after us, and there may never be one: its socket is waited for. */
int bus_connect(Bus *bus) {
        __attribute__((cleanup(sd_bus_close_unrefp))) sd_bus *system = NULL;
        const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
        int r = sd_bus_new(&system);

        if (r >= 0)
                r = sd_bus_set_address(system, address ?: "unix:path=/run/dbus/system_bus_socket");
        if (r >= 0)
                r = sd_bus_set_bus_client(system, 1);
        if (r >= 0)
                r = sd_bus_negotiate_fds(system, 1);
        if (r >= 0)
                r = sd_bus_set_watch_bind(system, 1);
        if (r >= 0)
                r = sd_bus_start(system);
        if (r >= 0)
                r = bus_offer(bus, system);
        if (r >= 0)
                r = watch_disconnect(system, on_system_gone, bus);
        if (r >= 0)
                r = sd_bus_request_name_async(system, NULL, RTISOL_BUS_NAME, 0, on_name, bus);
        if (r >= 0)
                r = sd_bus_attach_event(system, bus->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        bus->system = TAKE_PTR(system);
        return 0;
}
