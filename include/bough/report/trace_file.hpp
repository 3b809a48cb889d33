// SPDX-License-Identifier: BSL-1.0
// trace_file: a file in which the communicators of a process write every call and every message.
//
//   communicator comm{link, {.report = {.trace = bough::trace_file("3.trace")}}};
//   $ BOUGH_TRACE=traces ./program          # each process writes a file in that folder, which is made
//   $ bough trace traces --out run.json
// Each process needs a file of its own; threads that are ranks share that of their process. The file is
// mapped: what a process has written stays when it is killed. Every entry takes 48 bytes. A file does
// not grow beyond `most_bytes`: what does not fit is counted, and left out.
#ifndef BOUGH_REPORT_TRACE_FILE_HPP
#define BOUGH_REPORT_TRACE_FILE_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/options.hpp>
#include <bough/report/recording_file.hpp>
#include <bough/report/trace.hpp>
#include <bough/report/trace_format.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How long a trace may get, unless the program says otherwise.
inline constexpr std::uint64_t most_trace_bytes = std::uint64_t{1} << 30;

namespace detail {

// Times of processes with equal texts can be compared: their clock began at the same time.
inline std::array<char, 40> this_machine() noexcept {
    std::array<char, 40> text{};
    if (std::FILE* const in = std::fopen("/proc/sys/kernel/random/boot_id", "r"); in != nullptr) {
        if (std::fgets(text.data(), text.size(), in) == nullptr) text.fill('\0');
        (void)std::fclose(in);
    }
    if (text[0] == '\0') (void)::gethostname(text.data(), text.size() - 1);
    text.back() = '\0';
    return text;
}

// The file of one process.
class trace_in_file final : public trace_place {
public:
    trace_in_file(std::shared_ptr<recording_place> file, std::uint64_t most_bytes)
        : file_(std::move(file)), most_bytes_(most_bytes), machine_(this_machine()) {}

    // Null: the file is full, or belongs to the parent.
    std::byte* take(std::size_t bytes) noexcept {
        if (is_parents() || taken_.fetch_add(bytes) + bytes > most_bytes_) return nullptr;
        std::byte* memory = nullptr;
        ignore_exceptions([&] { memory = file_->take(bytes); });
        return memory;
    }
    bool is_parents() const noexcept { return born_ != forks(); }
    trace_header new_head() noexcept {
        trace_header head;
        head.header_bytes = sizeof head;
        head.process = process_;
        head.communicator = communicators_.fetch_add(1);
        head.machine = machine_;
        head.utc_ns = clock_mark::now().utc_ns;
        head.steady_ns = steady_now_ns();
        return head;
    }
    template <int = 0>
    std::unique_ptr<communicator_trace> make(const recorded_communicator& of, std::uint64_t job);
    std::unique_ptr<communicator_trace> open(const recorded_communicator& of, std::uint64_t job) override {
        return make(of, job);
    }

private:
    std::shared_ptr<recording_place> file_;
    std::uint64_t most_bytes_;
    std::array<char, 40> machine_;
    std::uint32_t born_ = forks();
    std::uint64_t process_ = steady_now_ns() ^ static_cast<std::uint64_t>(::getpid()) << 40;
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<std::uint32_t> communicators_{0};
};

// The parts of one communicator. Each is four times as long as the one before, up to 1 MiB.
class trace_of_communicator final : public communicator_trace {
public:
    trace_of_communicator(trace_in_file& place, const recorded_communicator& of, std::uint64_t job)
        : place_(place), members_(of.members.begin(), of.members.end()) {
        head_ = place.new_head();
        head_.job = job;
        head_.rank = of.rank;
        head_.size = of.size;
        head_.epoch = of.epoch;
        head_.context = of.context;
        head_.members = static_cast<std::uint32_t>(members_.size());
        (void)has_room(1);
    }
    ~trace_of_communicator() override {
        if (part_ != nullptr && !place_.is_parents()) part_->closed_ns = steady_now_ns();
    }

    void note(const operation_event& e) noexcept override {
        using kind = operation_event::kind;
        if (e.what == kind::start) {
            if (place_.is_paused()) return;
            ignore_exceptions([&] { in_flight_.push_back(e.number); });
        }
        const auto its = detail::find(in_flight_, e.number);
        if (its == in_flight_.end()) return;
        if (e.what == kind::end) in_flight_.erase(its);
        trace_entry made{.at_ns = steady_now_ns(),
                         .bytes = e.bytes,
                         .number = e.number,
                         .step = e.step,
                         .peer = e.peer,
                         .element = static_cast<std::uint16_t>(std::min<std::uint32_t>(e.element_bytes, 0xffff)),
                         .code = static_cast<std::uint8_t>(e.code)};
        if (e.what == kind::start) {
            made.plan_id = e.call->plan;
            made.count = e.call->count;
            made.step = e.call->kind;
            made.peer = e.call->root;
        }
        put(made, static_cast<std::uint8_t>(1 + static_cast<unsigned>(e.what)));
    }
    bool knows(std::uint64_t plan) const noexcept override { return detail::contains(plans_, plan); }
    void add(const traced_plan& p) noexcept override {
        ignore_exceptions([&] { plans_.push_back(p.id); });
        const std::size_t slots = 2 + trace_name_slots + p.steps.size() + p.costs.size();
        if (!has_room(slots)) return;
        std::byte* at = next_ + sizeof(trace_entry);
        const auto slot = [&at](const void* from, std::size_t bytes, std::size_t count = 1) {
            std::memcpy(at, from, bytes);
            at += count * sizeof(trace_entry);
        };
        trace_plan_head about;
        about.start_ns = p.start_ns;
        about.has_ports = p.has_ports;
        about.lands_early = p.lands_early;
        slot(&about, sizeof about);
        slot(p.name, std::min(std::strlen(p.name), trace_name_slots * sizeof(trace_entry) - 1), trace_name_slots);
        for (const step& s : p.steps) slot(&s, sizeof s);
        for (const traced_cost& c : p.costs) slot(&c, sizeof c);
        put({.bytes = p.steps.size(), .plan_id = p.id, .count = p.costs.size(), .number = p.blocks}, trace_entry::plan,
            slots);
    }

private:
    static constexpr std::size_t least_bytes = 4096, most_bytes = std::size_t{1} << 20;

    void put(const trace_entry& made, std::uint8_t what, std::size_t slots = 1) noexcept {
        if (!has_room(slots)) return;
        std::memcpy(next_, &made, sizeof made - 1);
        __atomic_store_n(reinterpret_cast<std::uint8_t*>(next_) + offsetof(trace_entry, what), what, __ATOMIC_RELEASE);
        next_ += slots * sizeof made;
    }
    // Begins a new part if need be.
    bool has_room(std::size_t slots) noexcept {
        const std::size_t bytes = slots * sizeof(trace_entry);
        if (place_.is_parents()) return false;
        if (static_cast<std::size_t>(end_ - next_) >= bytes) return true;
        const std::size_t length = std::max(length_, (head_.slots_at() + bytes + 63) / 64 * 64);
        std::byte* const memory = place_.take(length);
        if (memory == nullptr) {
            if (part_ != nullptr) ++part_->lost;
            return false;
        }
        length_ = std::min(length_ * 4, most_bytes);
        head_.bytes = length;
        if (!members_.empty()) std::memcpy(memory + sizeof head_, members_.data(), members_.size() * 4);
        part_ = ::new (memory) trace_header(head_);
        ++head_.part;
        next_ = memory + head_.slots_at();
        end_ = memory + length;
        return true;
    }

    trace_in_file& place_; // detail::tracer keeps it
    std::vector<rank_t> members_;
    trace_header head_; // of the next part
    trace_header* part_ = nullptr;
    std::byte *next_ = nullptr, *end_ = nullptr;
    std::size_t length_ = least_bytes;
    std::vector<std::uint32_t> in_flight_; // calls that are traced
    plain_list<std::uint64_t> plans_;      // that are in the file
};

template <int>
std::unique_ptr<communicator_trace> trace_in_file::make(const recorded_communicator& of, std::uint64_t job) {
    return std::make_unique<trace_of_communicator>(*this, of, job);
}

} // namespace detail

// Makes the file, in place of what is there. On error `s` names the argument, and the result is null.
inline std::shared_ptr<trace_place> trace_file(const std::string& name, status& s,
                                               std::uint64_t most_bytes = most_trace_bytes) {
    std::shared_ptr<recording_place> file = recording_file(name, s);
    if (s) {
        s = invalid_argument("trace_file: the file cannot be written");
        return nullptr;
    }
    return std::make_shared<detail::trace_in_file>(std::move(file), most_bytes);
}
// The same; throws bough::error.
inline std::shared_ptr<trace_place> trace_file(const std::string& name, std::uint64_t most_bytes = most_trace_bytes) {
    status s;
    auto made = trace_file(name, s, most_bytes);
    if (!s) return made;
#if BOUGH_HAS_EXCEPTIONS
    throw error(s, "'" + name + "': " + std::strerror(errno));
#else
    detail::throw_if(s);
    return made;
#endif
}

namespace detail {

// The file of this process in the folder BOUGH_TRACE, which is made if need be. The child of a fork has
// its own. If it cannot be made, standard error says so, once.
template <int = 0>
std::shared_ptr<trace_place> trace_in_folder() {
    static std::mutex lock;
    static std::shared_ptr<trace_place> mine;
    static std::uint32_t born = 0xffff'ffffu; // forks() when it was made
    const char* const folder = std::getenv("BOUGH_TRACE");
    if (folder == nullptr || *folder == '\0') return nullptr;
    const std::lock_guard held(lock);
    if (born == forks()) return mine;
    leave_to_parent(mine);
    mine = nullptr;
    born = forks();
    (void)::mkdir(folder, 0777);
    std::array<char, 64> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    const std::string name = std::string(folder) + '/' + host.data() + '.' + std::to_string(::getpid()) + ".trace";
    status bad;
    mine = trace_file(name, bad);
    if (bad) (void)std::fprintf(stderr, "bough: BOUGH_TRACE: '%s': %s\n", name.c_str(), std::strerror(errno));
    return mine;
}
inline const bool finds_trace_of_environment = (trace_of_environment() = &trace_in_folder<>, true);
BOUGH_COMPILED_COMMON(std::shared_ptr<trace_place> trace_in_folder<0>())

} // namespace detail
} // namespace bough

#endif
