// SPDX-License-Identifier: BSL-1.0
#include "soak/strike.hpp"

#include "soak/board.hpp"
#include "soak/draw.hpp"
#include "support/leave_none.hpp"
#include "support/sanitizers.hpp"

#include <csignal>
#include <sys/time.h>
#include <unistd.h>

namespace soak {

namespace {

seat* struck = nullptr;
volatile int blow_signal = 0; // 0: the alarm itself is the blow

void strike_now(int) {
    struck->is_struck = true;
    if (blow_signal != 0) ::kill(::getpid(), blow_signal);
}
void set_timer(std::uint32_t first_us, std::uint32_t next_us) {
    itimerval at{};
    at.it_value.tv_sec = first_us / 1'000'000;
    at.it_value.tv_usec = first_us % 1'000'000;
    at.it_interval.tv_usec = next_us;
    ::setitimer(ITIMER_REAL, &at, nullptr);
}
void take_away(const job_plan& job, seat& mine) {
    if (job.fault == fault::no_descriptors && bough_test::may_have_undefined_behavior_sanitizer) return;
    mine.is_struck = true;
    if (job.fault == fault::no_descriptors) bough_test::leave_no_descriptors();
    if (job.fault == fault::full_disk) bough_test::leave_no_disk();
}
void send_signal(const job_plan& job, seat& mine, int signal, std::uint32_t next_us) {
    struck = &mine;
    blow_signal = signal;
    struct sigaction how {};
    how.sa_handler = strike_now; // without SA_RESTART: it interrupts what waits
    ::sigaction(SIGALRM, &how, nullptr);
    if (job.after_us == 0) strike_now(SIGALRM);
    if (job.after_us != 0 || next_us != 0) set_timer(job.after_us + 1, next_us);
}

} // namespace

void strike_before_join(const job_plan& job, seat& mine) {
    if (job.is_at_join) take_away(job, mine);
}
void strike(const job_plan& job, seat& mine) {
    switch (job.fault) {
    case fault::killed: return send_signal(job, mine, SIGKILL, 0);
    case fault::paused:
    case fault::stopped: return send_signal(job, mine, SIGSTOP, 0);
    case fault::interrupted: return send_signal(job, mine, 0, 1'000);
    case fault::short_calls: return begin_short_calls(job.seed, mine.is_struck);
    case fault::clock_jumps: return begin_clock_jumps(job.seed, mine.is_struck);
    case fault::no_descriptors:
    case fault::full_disk:
        if (!job.is_at_join) take_away(job, mine);
        return;
    default: return;
    }
}
void call_off_strike() {
    if (struck != nullptr) set_timer(0, 0);
}

} // namespace soak
