/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profiles.h"
#include "test.h"

#define X "/etc/rtisold/profiles/x.ini"

typedef struct Case {
        const char *text, *expected;
} Case;

static void check(const Case *table, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *result = profiles_load_text(table[i].text);

                if (!streq(result, table[i].expected))
                        fail_msg("%s\n--- gives\n%s\n--- not\n%s", table[i].text, result, table[i].expected);
        }
}
#define CHECK(table) check(table, ARRAY_SIZE(table))

static void test_form(void **state) {
        static const Case table[] = {
                { "[cpuset rt]\ncpus = 2-3\n", "[cpuset rt]\ncpus = 2-3\n" },
                { "[cpuset rt]\ncpus=2-3", "[cpuset rt]\ncpus = 2-3\n" },
                { "[cpuset rt]\r\ncpus\t=  2-3 \r\n", "[cpuset rt]\ncpus = 2-3\n" },
                { "\xef\xbb\xbf[cpuset rt]\ncpus = 2-3\n", "[cpuset rt]\ncpus = 2-3\n" },
                { "[ cpuset   rt ] ; the set\ncpus = 2 ; two\n", "[cpuset rt]\ncpus = 2\n" },
                { "; a\n# b\n  ; c\n\t# d\n\n[tick]\nskew_tick = on\n", "[tick]\nskew_tick = on\n" },
                /* Comments follow white space and `;`; a `;` alone is a part of the value, and so is `#`. */
                { "[profile]\ndescription = a;b # c ; d\n", "[profile]\ndescription = a;b # c\n" },
                { "[profile]\ndescription =;a\n", "[profile]\ndescription =;a\n" },
                { "[profile]\ndescription = a=b: c = d\n", "[profile]\ndescription = a=b: c = d\n" },
                /* Continued values. */
                { "[profile]\nrequire = partition ; one\n ; between\n# here\n\tirqs ; two\n        nohz\n",
                        "[profile]\nrequire = partition irqs nohz\n" },
                { "[profile]\ndescription =\n  later\n", "[profile]\ndescription = later\n" },
                { "[profile]\ndescription = a\n\n  b\n",
                        X ":4: an indented line continues the value above, and there is none; sections and "
                          "keys "
                          "start at the beginning of a line" },
                { "[profile]\n  description = a\n",
                        X ":2: an indented line continues the value above, and there is none; sections and "
                          "keys "
                          "start at the beginning of a line" },
                { "[cpuset rt]\ncpus = 2\n  nohz = off\n",
                        X ":3: an indented line continues the value above, and this one looks like a key; "
                          "keys "
                          "start at the beginning of a line" },
                /* A colon separates nothing, in keys and in values. */
                { "[sysfs]\n/sys/bus/pci/devices/0000:00:1f.2/power/control = on\n",
                        "[sysfs]\n/sys/bus/pci/devices/0000:00:1f.2/power/control = on\n" },
                { "[irq nic]\nmatch = virtio0:* eth0:rx\ncpus = node:0\n",
                        "[irq nic]\nmatch = virtio0:* eth0:rx\ncpus = node:0\n" },
                { "[cpuset rt]\ncpus: 2\n",
                        X ":1: cpuset rt: cpus: it is missing, and [cpuset NAME] cannot be without it\n" X
                          ":2: a line is KEY = VALUE, with \"=\", not \":\"" },
                /* What is no line. */
                { "[cpuset rt\n[tick]\n", X ":1: a section's name ends in \"]\"" },
                { "[tick] skew_tick = on\n",
                        X
                        ":1: there is text behind the section's name; a comment starts with white space and "
                        "\";\"" },
                { "[tick\nskew_tick = on\nnonsense\n",
                        X ":1: a section's name ends in \"]\"\n" X
                          ":3: a line is [SECTION], KEY = VALUE or a comment" },
                { "skew_tick = on\n", X ":1: a key comes after its [SECTION]" },
                { "[tick]\n= on\nskew tick = on\nskew_tick\n",
                        X ":2: there is no key before \"=\"\n" X
                          ":3: a key has no white space in it; a line is KEY = VALUE\n" X
                          ":4: a line is [SECTION], KEY = VALUE or a comment" },
                { "[profile]\ndescription = a\x01\n", X ":2: a control character; profiles are plain text" },
                { "[profile]\ndescription = \xff\n",
                        X ":2: bytes that are not UTF-8; profiles are UTF-8 text" },
                { "[profile]\ndescription = \xf8\x90\x80\x80\n",
                        X ":2: bytes that are not UTF-8; profiles are UTF-8 text" },
                { "[profile]\ndescription = \xc0\xaf\n",
                        X ":2: bytes that are not UTF-8; profiles are UTF-8 text" },
                { "[profile]\ndescription = \xed\xa0\x80\n",
                        X ":2: bytes that are not UTF-8; profiles are UTF-8 text" },
                { "[profile]\ndescription = größer 🙂\n; \xff\n",
                        "[profile]\ndescription = größer 🙂\n" },
                { "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n",
                        X ":1: a section's name has 49 characters at most" },
                { "\n", "" },
        };

        CHECK(table);
}

static void test_sections(void **state) {
        static const Case table[] = {
                { "[cpusets rt]\ncpus = 2\n",
                        X
                        ":1: cpusets rt: there is no such section (did you mean \"cpuset\"?); sections are "
                        "profile, cpuset, tick, sched_features, keep_off_sets, irq, net, kthread, task, "
                        "kvm, "
                        "sysctl "
                        "and "
                        "sysfs" },
                { "[]\n",
                        X ":1: : there is no such section; sections are profile, cpuset, tick, "
                          "sched_features, "
                          "keep_off_sets, irq, net, kthread, task, kvm, sysctl and sysfs" },
                { "[cpuset]\ncpus = 2\n", X ":1: cpuset: this section needs a name; write [cpuset NAME]" },
                { "[tick one]\n", X ":1: tick one: this section takes no name; write [tick]" },
                { "[cpuset rt-a]\ncpus = 2\n",
                        X ":1: cpuset rt-a: \"rt-a\" is no name for a set; write a lower-case letter, then "
                          "lower-case letters, digits and underscores, 32 characters at most (a dash would "
                          "nest "
                          "the slice)" },
                { "[cpuset r t]\ncpus = 2\n",
                        X ":1: cpuset r t: \"r t\" is no name for a set; write a lower-case letter, then "
                          "lower-case letters, digits and underscores, 32 characters at most (a dash would "
                          "nest "
                          "the slice)" },
                { "[cpuset abcdefghijklmnopqrstuvwxyz012345]\ncpus = 2\n",
                        "[cpuset abcdefghijklmnopqrstuvwxyz012345]\ncpus = 2\n" },
                { "[cpuset abcdefghijklmnopqrstuvwxyz0123456]\ncpus = 2\n",
                        X ":1: cpuset abcdefghijklmnopqrstuvwxyz0123456: "
                          "\"abcdefghijklmnopqrstuvwxyz0123456\" "
                          "is no name for a set; write a lower-case letter, then lower-case letters, digits "
                          "and "
                          "underscores, 32 characters at most (a dash would nest the slice)" },
                { "[task dpdk-testpmd]\nmatch = dpdk-testpmd\nset = rt\n[cpuset rt]\ncpus = auto\n",
                        "[task dpdk-testpmd]\nmatch = dpdk-testpmd\nset = rt\n\n[cpuset rt]\ncpus = "
                        "auto\n" },
                { "[irq a/b]\nmatch = x\ncpus = 1\n",
                        X ":1: irq a/b: \"a/b\" is no name; write letters, digits, and _ . @ -, 32 "
                          "characters at "
                          "most" },
                /* Sections of one name merge, and the later key counts. */
                { "[cpuset rt]\ncpus = 2\n[tick]\nskew_tick = off\n[cpuset rt]\nnohz = off\ncpus = 3\n",
                        "[cpuset rt]\ncpus = 3\nnohz = off\n\n[tick]\nskew_tick = off\n" },
        };

        CHECK(table);
}

#define SET "[cpuset rt]\ncpus = 2\n"

static const Case value_cases[] = {
        { SET "nohzz = off\n",
                X ":3: cpuset rt: nohzz: there is no such key (did you mean \"nohz\"?); keys of "
                  "[cpuset "
                  "NAME] are cpus, control_cpus, partition, mems, nohz, rt_push_pull, rt_throttling, "
                  "max_cstate, governor and smt" },
        { SET "nohz = fulll\n",
                X ":3: cpuset rt: nohz: \"fulll\" is not allowed; write off, idle or full (did you "
                  "mean "
                  "\"full\"?)" },
        { SET "nohz = on\n", X ":3: cpuset rt: nohz: \"on\" is not allowed; write off, idle or full" },
        { SET "-nohz = off\n",
                X ":3: cpuset rt: -nohz: only keys of [sched_features], [sysctl] and [sysfs] may "
                  "have a "
                  "dash; write nohz" },
        { SET "rt_push_pull = offf\n",
                X ":3: cpuset rt: rt_push_pull: \"offf\" is not allowed; write on or off (did you "
                  "mean "
                  "\"off\"?)" },
        { SET "partition = isolate\n",
                X ":3: cpuset rt: partition: \"isolate\" is not allowed; write isolated, root or none "
                  "(did you mean \"isolated\"?)" },
        { SET "mems = 1-0\n",
                X ":3: cpuset rt: mems: \"1-0\" is no list of NUMA nodes; write one such as 0-1, or "
                  "local" },
        { SET "mems = local\nmems = 0-1,3\n", SET "mems = 0-1,3\n" },
        { SET "max_cstate = poll\n", X ":3: cpuset rt: max_cstate: \"poll\" is written POLL" },
        { SET "max_cstate = C1 C2\n",
                X ":3: cpuset rt: max_cstate: \"C1 C2\" is no idle state; write POLL, C1, the name "
                  "of a "
                  "state, or any" },
        { SET "max_cstate = C6_S\n", SET "max_cstate = C6_S\n" },
        { SET "governor = ../x\n",
                X ":3: cpuset rt: governor: \"../x\" is no governor; write one of "
                  "scaling_available_governors, such as performance" },
        { SET "smt = includes\n",
                X ":3: cpuset rt: smt: \"includes\" is not allowed; write warn, include or refuse "
                  "(did "
                  "you mean \"include\"?)" },
        { "[profile]\nrequire = partition irq\n",
                X ":2: profile: require: \"irq\" is not allowed; write any of these, separated by "
                  "white "
                  "space: partition, irqs, kthreads, workqueues, skew_tick, nohz, rt_push_pull, "
                  "rt_throttling, idle, cpufreq and net (did you mean \"irqs\"?)" },
        { "[profile]\npinned = adopted\naccept_starvation = maybe\n",
                X ":2: profile: pinned: \"adopted\" is not allowed; write refuse, adopt or ignore "
                  "(did "
                  "you mean \"adopt\"?)\n" X
                  ":3: profile: accept_starvation: \"maybe\" is not allowed; write yes or no" },
        { "[profile]\ninclude = ../../etc/passwd\n",
                X ":2: profile: include: \"../../etc/passwd\" is no profile's name, which has "
                  "letters, "
                  "digits, - and _, 64 at most, without folder or .ini, and no dash in front" },
        { "[profile]\ninclude = base.ini\n",
                X ":2: profile: include: \"base.ini\" is no profile's name, which has letters, "
                  "digits, - "
                  "and _, 64 at most, without folder or .ini, and no dash in front" },
        { "[tick]\nskew_tick = 2\n", X ":2: tick: skew_tick: \"2\" is not allowed; write on or off" },
        { "[keep_off_sets]\nirqs = never\nkthread = yes\n",
                X ":2: keep_off_sets: irqs: \"never\" is not allowed; write yes or no\n" X
                  ":3: keep_off_sets: kthread: there is no such key (did you mean \"kthreads\"?); "
                  "keys of "
                  "[keep_off_sets] are kthreads, except, workqueues, irqs, timers, watchdog and rcu" },
        { "[net n]\nmatch = eth0\ncpus = housekeping\n",
                X ":3: net n: cpus: \"housekeping\" is no CPU expression; write one, or housekeeping (did "
                  "you mean \"housekeeping\"?)" },
        { "[net n]\nmatch = eth0\nxps = 7-4\n",
                X ":3: net n: xps: column 3: \"7-4\" ends before it begins; or write housekeeping, "
                  "keep_off_sets or none" },
        { "[net n]\nmatch = eth0\nrx = many\ntx = 70000\n",
                X ":3: net n: rx: \"many\" is no count of channels; write a number, or auto for one for "
                  "each CPU\n" X ":4: net n: tx: \"70000\" is no count of channels; write a number, or auto "
                  "for one for each CPU" },
        { "[net n]\nmatch = eth0\ncombined = 0\nrx = 0\n",
                X ":3: net n: combined: the device would have no channel left; write 1 or more, or auto" },
        { "[net n]\nrps = set:rt\n",
                X ":1: net n: match: it is missing, and [net NAME] cannot be without it\n" X
                  ":2: net n: rps: there is no set \"rt\" in this profile" },
        { "[kthread k]\nmatch = rcuc/*\npolicy = FIFO\npriority = 4\n",
                X ":3: kthread k: policy: \"FIFO\" is not allowed; write other, batch, idle, fifo or "
                  "rr" },
        { "[kthread k]\nmatch = rcuc/*\npolicy = fifo\npriority = 100\n",
                X ":4: kthread k: priority: \"100\" is no priority; write 1 to 99 for fifo and rr, "
                  "0 for "
                  "the other policies" },
        { "[task t]\nmatch = a-very-long-program-name\nset = rt\n" SET,
                X ":2: task t: match: \"a-very-long-program-name\" never matches: the kernel keeps 15 "
                  "bytes of a name; write the first 15, or end it in a star before" },
        { "[task t]\nmatch = a-very-[lL]ong-*\nset = rt\n" SET,
                "[task t]\nmatch = a-very-[lL]ong-*\nset = rt\n\n" SET },
        { "[task t]\nmatch = /usr/bin/dpdk\nset = rt\n" SET,
                X ":2: task t: match: \"/usr/bin/dpdk\" never matches: it is compared with a "
                  "program's "
                  "own name, not with its path" },
        { "[task t]\nunit = dpdk\nset = rt\n" SET,
                X ":2: task t: unit: \"dpdk\" is no unit that runs programs; write NAME.service or "
                  "NAME.scope" },
};

static void test_values(void **state) {
        CHECK(value_cases);
}

/* CPU expressions: the line, the key and the column; what is behind the column is cpuexpr's. */
static void test_cpus(void **state) {
        static const Case table[] = {
                { "\"4-8\"", "quotes are not allowed here; write the value alone" },
                { "\"4-8", "quotes are not allowed here; write the value alone" },
                { "4-8'", "quotes are not allowed here; write the value alone" },
                { "7-4", "column 3:" },
                { "1,2-", "column 5:" },
                { "0xf,6", "column 2:" },
                { "1_0", "column 2:" },
                { "٣", "column 1:" },
                { "1 2", "column 2:" },
                { "1-3-5", "column 4:" },
                { "1,,2", "column 3:" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_free_ char *text = NULL, *result = NULL, *expected = NULL;

                assert_int_equal(util_asprintf(&text, "[cpuset rt]\ncpus = %s\n", table[i].text), 0);
                assert_int_equal(
                        util_asprintf(&expected, X ":2: cpuset rt: cpus: %s", table[i].expected), 0);
                result = profiles_load_text(text);
                if (!util_startswith(result, expected))
                        fail_msg("%s gives %s, not %s", text, result, expected);
        }
}

static void test_settings(void **state) {
        static const Case table[] = {
                { "[sysctl]\nvm.stat_interval = 10\n-kernel.numa_balancing = 0\n",
                        "[sysctl]\nvm.stat_interval = 10\n-kernel.numa_balancing = 0\n" },
                /* The dash and the way the name is written make no other key. */
                { "[sysctl]\n-kernel.numa_balancing = 0\nkernel/numa_balancing = 1\n",
                        "[sysctl]\nkernel.numa_balancing = 1\n" },
                { "[sysctl]\nnet/ipv4/conf/eth0.100/forwarding = 1\n",
                        "[sysctl]\nnet.ipv4.conf.eth0/100.forwarding = 1\n" },
                { "[sysctl]\nvm.stat_interval = 10\nvm.stat_interval =\nvm.swappiness = 1\n",
                        "[sysctl]\nvm.swappiness = 1\n" },
                { "[sysctl]\nvm/../kernel/panic = 1\nstat_interval = 1\n/proc/sys/vm/panic = 1\nvm. = 1\n",
                        X ":2: sysctl: vm.//.kernel.panic: this is no sysctl; write its name as in "
                          "vm.stat_interval\n" X ":3: sysctl: stat_interval: this is no sysctl; write its "
                          "name as in vm.stat_interval\n" X
                          ":4: sysctl: .proc.sys.vm.panic: this is no sysctl; write its name as in "
                          "vm.stat_interval\n" X
                          ":5: sysctl: vm.: this is no sysctl; write its name as in vm.stat_interval" },
                { "[sysfs]\n-/sys/kernel/mm/ksm/run = 0\n", "[sysfs]\n-/sys/kernel/mm/ksm/run = 0\n" },
                { "[sysfs]\n/sys/../proc/x = 1\nkernel/mm = 1\n/sys/ = 1\n/sys//x = 1\n",
                        X ":2: sysfs: /sys/../proc/x: this is no file below /sys; write its whole path, "
                          "without "
                          ". and .., such as /sys/kernel/mm/transparent_hugepage/enabled\n" X
                          ":3: sysfs: kernel/mm: this is no file below /sys; write its whole path, without "
                          ". and "
                          ".., such as /sys/kernel/mm/transparent_hugepage/enabled\n" X
                          ":4: sysfs: /sys/: this is no file below /sys; write its whole path, without . "
                          "and .., "
                          "such as /sys/kernel/mm/transparent_hugepage/enabled\n" X
                          ":5: sysfs: /sys//x: this is no file below /sys; write its whole path, without . "
                          "and "
                          ".., such as /sys/kernel/mm/transparent_hugepage/enabled" },
                { "[sched_features]\n-RT_ISOLATE = on\n", "[sched_features]\n-RT_ISOLATE = on\n" },
                { "[sched_features]\nNO_RT_ISOLATE = on\nrt = on\nHRTICK = 1\n",
                        X ":2: sched_features: NO_RT_ISOLATE: a feature is named without NO_; write "
                          "RT_ISOLATE = "
                          "off\n" X
                          ":3: sched_features: rt: \"rt\" is no scheduler feature; their names are those in "
                          "sched/features, such as RT_ISOLATE\n" X
                          ":4: sched_features: HRTICK: \"1\" is not allowed; write on or off" },
        };

        CHECK(table);
}

/* What every set has, and the last word that its own section has. */
static void test_every_set(void **state) {
        static const Case table[] = {
                { "[cpuset *]\nnohz = full\ngovernor = performance\n[cpuset a]\ncpus = 1\n[cpuset b]\ncpus "
                  "= 2\n"
                  "nohz = off\n",
                        "[cpuset *]\nnohz = full\ngovernor = performance\n\n"
                        "[cpuset a]\ncpus = 1\nnohz = full\ngovernor = performance\n\n"
                        "[cpuset b]\ncpus = 2\nnohz = off\ngovernor = performance\n" },
                { SET "[cpuset *]\nsmt = include\n[cpuset *]\nsmt =\n", SET },
                { SET "nohz = off\nnohz =\n[cpuset *]\nnohz = idle\n",
                        SET "nohz = idle\n\n[cpuset *]\nnohz = idle\n" },
                { "[cpuset *]\nnohz = idle\n", "[cpuset *]\nnohz = idle\n" },
                { "[cpuset *]\ncpus = 1\nnohz = never\n",
                        X ":2: cpuset *: cpus: there is no such key; keys of [cpuset *] are partition, "
                          "mems, nohz, "
                          "rt_push_pull, rt_throttling, max_cstate, governor and smt\n" X
                          ":3: cpuset *: nohz: \"never\" is not allowed; write off, idle or full" },
                { "[irq *]\nmatch = x\ncpus = 1\n",
                        X
                        ":1: irq *: \"*\" is no name; write letters, digits, and _ . @ -, 32 characters at "
                        "most" },
        };

        CHECK(table);
}

static void test_rules(void **state) {
        static const Case table[] = {
                { "[cpuset rt]\nnohz = off\n",
                        X ":1: cpuset rt: cpus: it is missing, and [cpuset NAME] cannot be without it" },
                { "[cpuset rt]\ncpus =\n",
                        X ":2: cpuset rt: cpus: empty, which takes away a [cpuset rt] that was read "
                          "earlier, and "
                          "there is none; give it a value" },
                { "[irq nic]\ncpus = 1\n[kthread k]\nmatch = a\n[task t]\nmatch = b\n",
                        X ":1: irq nic: match: it is missing, and [irq NAME] cannot be without it\n" X
                          ":3: kthread k: policy: it is missing, and [kthread NAME] cannot be without it\n" X
                          ":5: task t: set: it is missing, and [task NAME] cannot be without it" },
                { "[task t]\nset = rt\n" SET,
                        X ":1: task t: match: the rule names no program; write match = NAME, unit = "
                          "NAME.service, or both" },
                { "[task t]\nset = rtt\nmatch = x\ncpus = set:rt,set:no\n" SET,
                        X
                        ":2: task t: set: there is no set \"rtt\" in this profile (did you mean \"rt\"?)\n" X
                        ":4: task t: cpus: there is no set \"no\" in this profile" },
                { "[cpuset a]\ncpus = set:b, ^0\n[cpuset b]\ncpus = 1,set:c\n[cpuset c]\ncpus = 0,^set:a\n",
                        X ":2: cpuset a: cpus: the set is described by itself, which is a loop\n" X
                          ":4: cpuset b: cpus: the set is described by itself, which is a loop\n" X
                          ":6: cpuset c: cpus: the set is described by itself, which is a loop" },
                { "[cpuset a]\ncpus = 1\n[cpuset b]\ncpus = siblings:1,^set:a\n",
                        "[cpuset a]\ncpus = 1\n\n[cpuset b]\ncpus = siblings:1,^set:a\n" },
                { "[kthread k]\nmatch = a\npolicy = fifo\n",
                        X ":1: kthread k: priority: policy fifo needs a priority, 1 to 99" },
                { "[kthread k]\nmatch = a\npolicy = other\npriority = 3\n",
                        X ":4: kthread k: priority: policy other has no priority; only fifo and rr have" },
                { "[kthread k]\nmatch = a\npolicy = batch\npriority = 0\n",
                        "[kthread k]\nmatch = a\npolicy = batch\npriority = 0\n" },
                /* A line that is wrong by itself gives one error, and all of them come at once, in order. */
                { "[task t]\nmatch = /x\nset = rt\nthread = x\n[kthread k]\nmatch = a\npolicy = "
                  "fifo\npriority = "
                  "x\n[cpuset rt]\ncpus = 2\nsmt = x\n",
                        X ":2: task t: match: \"/x\" never matches: it is compared with a program's own "
                          "name, not "
                          "with its path\n" X ":8: kthread k: priority: \"x\" is no priority; write 1 to 99 "
                          "for fifo and rr, 0 for "
                          "the other policies\n" X
                          ":11: cpuset rt: smt: \"x\" is not allowed; write warn, include or refuse" },
        };

        CHECK(table);
}

/* Nothing a user writes is cut: inih's own limits are 200 bytes a line and 50 a name. */
static void test_long(void **state) {
        static const size_t sizes[] = { 190, 200, 201, 4096, 1 << 20 };

        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                _cleanup_free_ char *long_word = calloc(1, sizes[i] + 1), *text = NULL, *result = NULL;

                memset(long_word, 'x', sizes[i]);
                assert_int_equal(util_asprintf(&text, "[sysfs]\n/sys/%s = %s\n", long_word, long_word), 0);
                result = profiles_load_text(text);
                assert_string_equal(result, text);
        }
}

static void check_sets(const Profile *p) {
        const ProfileSet *set = profile_set(p, "rt");

        assert_ptr_equal(set, p->sets);
        assert_string_equal(set->cpus, "2-3");
        assert_string_equal(set->control_cpus, "2");
        assert_int_equal(set->partition, PARTITION_NONE);
        assert_string_equal(set->mems, "local");
        assert_int_equal(set->nohz, NOHZ_FULL);
        assert_int_equal(set->rt_push_pull, 0);
        assert_int_equal(set->rt_throttling, 1);
        assert_string_equal(set->max_cstate, "C1");
        assert_string_equal(set->governor, "performance");
        assert_int_equal(set->smt, SMT_REFUSE);
        set = profile_set(p, "b");
        assert_int_equal(set->partition, PARTITION_ISOLATED);
        assert_int_equal(set->smt, SMT_WARN);
        assert_int_equal(set->nohz, PROFILE_UNSET);
        assert_int_equal(set->rt_push_pull, PROFILE_UNSET);
        assert_int_equal(set->rt_throttling, PROFILE_UNSET);
        assert_null(set->mems);
        assert_null(set->control_cpus);
        assert_null(profile_set(p, "c"));
}

static void check_rules(const Profile *p) {
        assert_string_equal(p->irqs[0].name, "nic");
        assert_string_equal(p->irqs[0].match, "eth0-*");
        assert_string_equal(p->irqs[0].cpus, "set:rt");
        assert_string_equal(p->nets[0].match, "eth* en*");
        assert_string_equal(p->nets[0].cpus, "housekeeping");
        assert_int_equal(p->nets[0].combined, NET_AUTO);
        assert_int_equal(p->nets[0].rx, 2);
        assert_int_equal(p->nets[0].tx, PROFILE_UNSET);
        assert_string_equal(p->nets[0].rps, "none");
        assert_string_equal(p->nets[0].xps, "keep_off_sets");
        assert_string_equal(p->kthreads[0].match, "a b");
        assert_string_equal(p->kthreads[0].policy, "rr");
        assert_int_equal(p->kthreads[0].priority, 9);
        assert_string_equal(p->tasks[0].match, "p");
        assert_string_equal(p->tasks[0].unit, "u.service");
        assert_string_equal(p->tasks[0].set, "rt");
        assert_string_equal(p->tasks[0].thread, "q");
        assert_string_equal(p->tasks[0].cpus, "set:rt");
}

static void test_fields(void **state) {
        static const char text[] =
                "[profile]\ndescription = D\nrequire = nohz net\npinned = adopt\n"
                "accept_starvation = yes\n"
                "[cpuset rt]\ncpus = 2-3\ncontrol_cpus = 2\npartition = none\nmems = local\n"
                "nohz = full\nrt_push_pull = off\nrt_throttling = yes\nmax_cstate = C1\n"
                "governor = performance\nsmt = refuse\n"
                "[cpuset b]\ncpus = 4\n"
                "[tick]\nskew_tick = off\n"
                "[sched_features]\n-HRTICK = off\n"
                "[keep_off_sets]\nkthreads = no\nexcept = a/* b\nworkqueues = no\nirqs = no\n"
                "timers = yes\nwatchdog = no\nrcu = no\n"
                "[irq nic]\nmatch = eth0-*\ncpus = set:rt\n"
                "[net n]\nmatch = eth* en*\ncpus = housekeeping\ncombined = auto\nrx = 2\nrps = none\n"
                "xps = keep_off_sets\n"
                "[kthread k]\nmatch = a b\npolicy = rr\npriority = 9\n"
                "[task t]\nmatch = p\nunit = u.service\nset = rt\nthread = q\ncpus = set:rt\n"
                "[sysctl]\nvm.a = 1\n[sysfs]\n/sys/x = 2\n";
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_profile_ Profile *p = NULL;

        tree_put(tree, "etc/rtisold/profiles/x.ini", text);
        assert_int_equal(profile_load(tree->kfs, "x", &p, NULL), 0);
        assert_string_equal(p->name, "x");
        assert_string_equal(p->file, X);
        assert_string_equal(p->description, "D");
        assert_int_equal(p->require, REQUIRE_NOHZ | REQUIRE_NET);
        assert_int_equal(p->pinned, PINNED_ADOPT);
        assert_true(p->accept_starvation);
        assert_int_equal(p->n_sets, 2);
        check_sets(p);
        assert_int_equal(p->skew_tick, 0);
        assert_int_equal(p->n_features, 1);
        assert_string_equal(p->features[0].key, "HRTICK");
        assert_string_equal(p->features[0].value, "off");
        assert_true(p->features[0].optional);
        assert_int_equal(p->features[0].source.line, 22);
        assert_false(
                p->keep_kthreads || p->keep_workqueues || p->keep_irqs || p->keep_watchdog || p->keep_rcu);
        assert_true(p->keep_timers);
        assert_int_equal(util_strv_length(p->except), 2);
        assert_string_equal(p->except[0], "a/*");
        check_rules(p);
        assert_string_equal(p->sysctls[0].key, "vm.a");
        assert_false(p->sysctls[0].optional);
        assert_string_equal(p->sysfs[0].value, "2");
}

static void test_defaults(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_profile_ Profile *p = NULL;

        assert_int_equal(profile_load(tree->kfs, "green", &p, NULL), 0);
        assert_string_equal(p->name, "green");
        assert_string_equal(p->file, "");
        assert_int_equal(p->require, REQUIRE_PARTITION | REQUIRE_IRQS);
        assert_int_equal(p->pinned, PINNED_REFUSE);
        assert_false(p->accept_starvation);
        assert_int_equal(p->skew_tick, PROFILE_UNSET);
        assert_true(
                p->keep_kthreads && p->keep_workqueues && p->keep_irqs && p->keep_watchdog && p->keep_rcu);
        assert_false(p->keep_timers);
        assert_int_equal(p->n_lines, 0);
        /* of the empty text */
        assert_string_equal(p->sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_matches(void **state) {
        static const struct {
                const char *patterns, *name;
                bool matches;
        } table[] = {
                { "ksoftirqd/* ktimers/*", "ktimers/3", true },
                { "ksoftirqd/*", "ksoftirqd", false },
                { "napi/*", "napi/eth0-8193", true },
                { " ice-ptp* ", "ice-ptp-eth0", true },
                { "rcuc/[0-3]", "rcuc/4", false },
                { "", "x", false },
                { "*", "anything/at all", true },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (profile_matches(table[i].patterns, table[i].name) != table[i].matches)
                        fail_msg("\"%s\", \"%s\"", table[i].patterns, table[i].name);
}

static void test_words(void **state) {
        assert_string_equal(profile_require_to_string(REQUIRE_PARTITION), "partition");
        assert_string_equal(profile_require_to_string(REQUIRE_RT_PUSH_PULL), "rt_push_pull");
        assert_string_equal(profile_require_to_string(REQUIRE_NET), "net");
        assert_null(profile_require_to_string(REQUIRE_NET << 1));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_form),
                cmocka_unit_test(test_sections),
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_cpus),
                cmocka_unit_test(test_settings),
                cmocka_unit_test(test_every_set),
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_long),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_matches),
                cmocka_unit_test(test_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
