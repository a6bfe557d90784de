# SPDX-License-Identifier: GPL-2.0-only
# Read by every case.

tracing=/sys/kernel/tracing
features=/sys/kernel/debug/sched/features
skew=/sys/module/kernel/parameters/skew_tick
# The handler of the tick in high resolution mode
if grep -q ' tick_sched_timer$' /proc/kallsyms; then
	tick_handler=tick_sched_timer
else
	tick_handler=tick_nohz_handler
fi

ok() {
	echo "ok - $*"
}

not_ok() {
	echo "not ok - $*"
}

note() {
	echo "# $*"
}

# is WHAT FOUND WANTED
is() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1"
		note "found  '$2'"
		note "wanted '$3'"
	fi
}

# within WHAT NUMBER LEAST MOST
within() {
	if [ "$2" -ge "$3" ] 2>/dev/null && [ "$2" -le "$4" ]; then
		ok "$1"
		note "$2 (from $3 to $4)"
	else
		not_ok "$1"
		note "$2 is not from $3 to $4"
	fi
}

# refused WHAT ERROR VALUE FILE: as busybox words the error
refused() {
	is "$1" "$(sh -c 'echo "$1" >"$2"' sh "$3" "$4" 2>&1 |
		sed 's/.*: //')" "$2"
}

# spin CPUS: keep them busy until unspin
spin() {
	kt busy "$1" 10000 >/dev/null &
	spinning=$!
	sleep 1
}

unspin() {
	kill $spinning
	wait $spinning 2>/dev/null
}

# make_set NAME CPUS STATE: below /cg
make_set() {
	mkdir -p "/cg/$1"
	echo "$2" >"/cg/$1/cpuset.cpus"
	echo "$3" >"/cg/$1/cpuset.cpus.partition"
}

drop_set() {
	rmdir "/cg/$1"
}

# wait_for WANTED COMMAND...: until the command prints it, 5 s at most
wait_for() {
	_wanted=$1
	shift
	for _ in $(seq 100); do
		[ "$("$@" 2>&1)" = "$_wanted" ] && return
		usleep 50000
	done
	note "waited for '$_wanted', it is '$("$@" 2>&1)'"
	return 1
}

offline() {
	echo 0 >"/sys/devices/system/cpu/cpu$1/online"
}

online() {
	echo 1 >"/sys/devices/system/cpu/cpu$1/online"
}

# probe NAME DEFINITION [FILTER]: a kprobe that is counted
probe() {
	echo "p:kt/$1 $2" >>$tracing/kprobe_events
	[ -z "${3:-}" ] || echo "$3" >"$tracing/events/kt/$1/filter"
}

no_probes() {
	echo 0 >$tracing/events/enable
	echo >$tracing/kprobe_events
	echo >$tracing/trace
}

# counts NAME SECONDS COMMAND...: how often the probe was hit on each CPU while
# the command ran, or for so many seconds
counts() {
	_event=$1
	_seconds=$2
	shift 2
	echo 0 >$tracing/tracing_on
	echo >$tracing/trace
	echo 1 >"$tracing/events/$_event/enable"
	echo 1 >$tracing/tracing_on
	if [ $# -gt 0 ]; then "$@"; else sleep "$_seconds"; fi
	echo 0 >$tracing/tracing_on
	echo 0 >"$tracing/events/$_event/enable"
	for _dir in $tracing/per_cpu/cpu[0-9] $tracing/per_cpu/cpu[0-9][0-9]; do
		[ -d "$_dir" ] || continue
		awk '/^(entries|overrun):/ { n += $2 } END { printf "%d ", n }' \
			"$_dir/stats"
	done
	echo
}

# sum A B C...
sum() {
	_sum=0
	for _n; do _sum=$((_sum + _n)); done
	echo $_sum
}

# phases: of each CPU's tick timer, in ns after the period.  A CPU whose handler runs just
# now is not shown: look until all are
phases() {
	for _try in 1 2 3 4 5; do
		_seen=$(phases_now)
		[ "$(echo "$_seen" | wc -w)" -ge "$(grep -c '^processor' /proc/cpuinfo)" ] &&
			break
		usleep 7000
	done
	echo "$_seen"
}

phases_now() {
	awk -v period="$((1000000000 / 250))" '
		/^cpu:/ { cpu = $2 }
		/<'"$tick_handler"'>|tick_sched_timer|tick_nohz_handler/ { want = 1 }
		want && /expires at/ {
			sub(/.*expires at /, ""); sub(/-.*/, "")
			# awk counts in doubles: take the last 12 digits
			n = substr($0, length($0) - 11) + 0
			printf "%s:%d ", cpu, n % period
			want = 0
		}
		END { print "" }' /proc/timer_list
}

# Into $up, in hundredths of a second and without another process
uptime_now() {
	read -r up _ </proc/uptime
	up=${up%.*}${up#*.}
}

# tick_counts SECONDS: of every CPU.  A virtual CPU that the host does not run
# for a while makes up for the ticks it has missed with one call, which forwards
# the timer by as many periods: count these.  And the time may have become
# longer than was asked for.
tick_counts() {
	if [ ! -d $tracing/events/kt/forward ]; then
		probe tick "$tick_handler"
		echo "r:kt/forward hrtimer_forward ret=\$retval:u64" \
			>>$tracing/kprobe_events
	fi
	echo 0 >$tracing/tracing_on
	echo >$tracing/trace
	echo 1 >$tracing/events/kt/tick/enable
	echo 1 >$tracing/events/kt/forward/enable
	uptime_now
	_from=$up
	echo 1 >$tracing/tracing_on
	sleep "$1"
	echo 0 >$tracing/tracing_on
	uptime_now
	_took=$((up - _from))
	echo 0 >$tracing/events/kt/tick/enable
	echo 0 >$tracing/events/kt/forward/enable
	awk -v handler="$tick_handler" -v asked=$(($1 * 100)) -v took=$_took '
		{
			if (!match($0, /\[[0-9]+\]/)) next
			cpu = substr($0, RSTART + 1, RLENGTH - 2) + 0
		}
		/ tick: / { n[cpu]++ }
		/ forward: / && index($0, handler) {
			match($0, /ret=[0-9]+/)
			n[cpu] += substr($0, RSTART + 4, RLENGTH - 4) - 1
		}
		END {
			for (i = 0; i < 4; i++)
				printf "%d ", n[i] * asked / took
			print ""
		}' $tracing/trace
}

truth() {
	if _said=$(kt truth 2>&1); then
		ok "$1: the root domains hold what the run queues say"
	else
		not_ok "$1: the root domains hold what the run queues say"
		note "$_said"
	fi
}
