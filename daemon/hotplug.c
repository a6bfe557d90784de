/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hotplug.h"
#include "settle.h"

#include <libudev.h>
#include <sys/epoll.h>

/* A driver binds its device and requests interrupts a little later. */
#define SETTLE_USEC UINT64_C(300000)

struct Hotplug {
        Kfs *kfs;
        struct udev *udev;
        struct udev_monitor *monitor;
        sd_event_source *io, *timer;
        HotplugHandler handler;
        void *userdata;
        CpuList own;
        uint64_t own_until; /* sequence number of the last uevent that may be our own */
        bool cpus;
};

/* Buses whose devices have interrupts, and `nvme`, whose queues come after the device. */
static const char *const subsystems[] = { "cpu", "pci", "virtio", "platform", "vmbus", "xen", "nvme",
        "net" };

static bool is_own(const Hotplug *hotplug, struct udev_device *device) {
        const char *number = udev_device_get_sysnum(device);
        unsigned cpu;

        return udev_device_get_seqnum(device) <= hotplug->own_until && number &&
                util_parse_unsigned(number, &cpu) >= 0 && cpulist_has(&hotplug->own, cpu);
}

/* What udev plays once more (`udevadm trigger`) is about CPUs that are where they were. */
static bool moves_cpu(const char *action) {
        return streq(action, "online") || streq(action, "offline") || streq(action, "remove");
}

/* `move`: a network device has another name, which a rule may be about. */
static bool brings_interrupts(const char *action) {
        return streq(action, "bind") || streq(action, "add") || streq(action, "change") ||
                streq(action, "move");
}

static void handle_device(Hotplug *hotplug, struct udev_device *device) {
        const char *subsystem = udev_device_get_subsystem(device), *action = udev_device_get_action(device);

        if (!subsystem || !action)
                return;
        if (streq(subsystem, "cpu")) {
                if (!moves_cpu(action) || is_own(hotplug, device))
                        return;
                hotplug->cpus = true;
        } else if (!brings_interrupts(action))
                return;
        settle_start(hotplug->timer, SETTLE_USEC);
}

static int on_uevent(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Hotplug *hotplug = userdata;
        struct udev_device *device = udev_monitor_receive_device(hotplug->monitor);

        if (!device)
                return 0;
        handle_device(hotplug, device);
        udev_device_unref(device);
        return 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata) {
        Hotplug *hotplug = userdata;
        bool cpus = hotplug->cpus;

        hotplug->cpus = false;
        hotplug->handler(hotplug->userdata, cpus);
        return 0;
}

/* Without udevd there are only the kernel's own events, which the kernel cannot filter for us. */
static int connect_monitor(Hotplug *hotplug) {
        const char *source = access("/run/udev/control", F_OK) == 0 ? "udev" : "kernel";

        hotplug->udev = udev_new();
        if (!hotplug->udev)
                return -ENOMEM;
        hotplug->monitor = udev_monitor_new_from_netlink(hotplug->udev, source);
        if (!hotplug->monitor)
                return errno > 0 ? -errno : -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++) {
                int r = udev_monitor_filter_add_match_subsystem_devtype(
                        hotplug->monitor, subsystems[i], NULL);
                if (r < 0)
                        return r;
        }
        return udev_monitor_enable_receiving(hotplug->monitor);
}

int hotplug_new(sd_event *event, Kfs *kfs, HotplugHandler handler, void *userdata, Hotplug **ret) {
        _cleanup_hotplug_ Hotplug *hotplug = calloc(1, sizeof(Hotplug));
        int r;

        if (!hotplug)
                return -ENOMEM;
        *hotplug = (Hotplug){ .kfs = kfs, .handler = handler, .userdata = userdata };
        r = connect_monitor(hotplug);
        if (r >= 0)
                r = sd_event_add_io(event, &hotplug->io, udev_monitor_get_fd(hotplug->monitor), EPOLLIN,
                        on_uevent, hotplug);
        if (r >= 0)
                r = settle_new(event, on_settled, hotplug, &hotplug->timer);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(hotplug);
        return 0;
}

void hotplug_free(Hotplug *hotplug) {
        if (!hotplug)
                return;
        (void) sd_event_source_disable_unref(hotplug->io);
        (void) sd_event_source_disable_unref(hotplug->timer);
        udev_monitor_unref(hotplug->monitor);
        udev_unref(hotplug->udev);
        cpulist_done(&hotplug->own);
        free(hotplug);
}

int hotplug_ignore(Hotplug *hotplug, const CpuList *cycled) {
        _cleanup_free_ char *text = NULL;
        CpuList own = {};
        int r;

        if (cpulist_is_empty(cycled))
                return 0;
        r = kfs_read(hotplug->kfs, "/sys/kernel/uevent_seqnum", &text);
        if (r >= 0)
                r = util_parse_u64(text, &hotplug->own_until);
        if (r >= 0)
                r = cpulist_copy(cycled, &own);
        if (r < 0)
                return r;
        cpulist_done(&hotplug->own);
        hotplug->own = own;
        return 0;
}
