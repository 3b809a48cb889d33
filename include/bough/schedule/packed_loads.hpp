// SPDX-License-Identifier: BSL-1.0
// Packed loads: what each packed plane of a rank holds at each step of its schedule, in program order.
// Dependence, verifier and binder share this one rule.
//
// What a packed plane holds at one time is a load: slices, one behind the other. A slice that is
// written
//   - stays in its place if the same step reads it: a combine that accumulates there, a copy onto itself,
//   - goes behind the others if nothing of the load has been read so far,
//   - begins a new load otherwise: all that the plane held is gone.
// A load is a message that comes in parts, or one that is put together part by part and then leaves.
// Its slices do not overlap, and a step names them as they were written, not in part.
#ifndef BOUGH_SCHEDULE_PACKED_LOADS_HPP
#define BOUGH_SCHEDULE_PACKED_LOADS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Stands where a plane does not hold a slice.
inline constexpr std::uint32_t not_loaded = 0xffff'ffffu;

// Call read() and write() for every slice in a packed plane that is not empty, in program order: for
// what a step reads first, then for what it writes.
template <int = 0>
class packed_loads {
public:
    // A slice of a load. `place`: its number in it.
    struct entry {
        slice what{};
        std::uint32_t load = 0, place = 0;
        std::uint32_t next = not_loaded; // of the same load
    };

    // The entry that is read, or not_loaded. Pre: the slice lies in a packed plane.
    constexpr std::uint32_t read(const slice& s) {
        plane& p = plane_of(s);
        p.is_read = true;
        return find(p, s);
    }
    // The entry that step `by` writes. Before a new load begins, calls forget(entry) for all of the one
    // before.
    template <class F>
    constexpr std::uint32_t write(const step& by, F&& forget) {
        const slice& s = by.out;
        plane& p = plane_of(s);
        written_ = not_loaded;
        if ((by.reads_a() && by.a == s) || (by.reads_b() && by.b == s))
            if (const std::uint32_t held = find(p, s); held != not_loaded) return held;
        const auto made = static_cast<std::uint32_t>(entries_.size());
        if (p.first == not_loaded || p.is_read) {
            for (std::uint32_t e = p.first; e != not_loaded; e = entries_[e].next) forget(entries_[e]);
            p = {made, made, loads_, false, 0, p.most};
            entries_.push_back({s, loads_++, 0, not_loaded});
        } else {
            entries_[p.last].next = made;
            entries_.push_back({s, p.load, entries_[p.last].place + 1, not_loaded});
            p.last = made;
        }
        note(made);
        written_ = made;
        p.blocks += s.count;
        if (p.blocks > p.most) most_ += p.blocks - p.most, p.most = p.blocks;
        return made;
    }
    constexpr std::uint32_t write(const step& by) {
        return write(by, [](const entry&) {});
    }
    constexpr const entry& operator[](std::uint32_t e) const noexcept { return entries_[e]; }
    // Does another slice of its load overlap entry `e`? Pre: the plane holds it. *Time*: one look-up if
    // all slices have one block, otherwise linear in the slices of the load.
    constexpr bool overlaps_another(std::uint32_t e) const noexcept {
        const slice& s = entries_[e].what;
        const plane& p = planes_[s.buffer.index];
        if (find(p, s) != e) return true;
        for (std::uint32_t i = p.first; i != not_loaded && !single_; i = entries_[i].next)
            if (i != e && overlap(entries_[i].what, s)) return true;
        return false;
    }
    // Did the last write add entry `e`?
    constexpr bool is_new(std::uint32_t e) const noexcept { return e == written_; }
    constexpr std::uint32_t loads() const noexcept { return loads_; }
    // The blocks of the largest load of each plane, all planes together.
    constexpr std::uint64_t most_blocks() const noexcept { return most_; }
    constexpr void clear() noexcept {
        planes_.clear(), entries_.clear(), table_.clear();
        loads_ = 0, most_ = 0, single_ = true;
    }

private:
    struct plane {
        std::uint32_t first = not_loaded, last = not_loaded; // entries
        std::uint32_t load = 0;
        bool is_read = false;
        block_t blocks = 0, most = 0; // of this load, of the largest
    };
    constexpr plane& plane_of(const slice& s) {
        if (planes_.size() <= s.buffer.index) planes_.resize(std::size_t{s.buffer.index} + 1, plane{});
        return planes_[s.buffer.index];
    }
    constexpr std::uint32_t find(const plane& p, const slice& s) const {
        if (p.first == not_loaded) return not_loaded;
        const std::uint32_t e = table_[slot_of(s)];
        return e != not_loaded && entries_[e].load == p.load ? e : not_loaded;
    }
    // The table has an entry of every slice: the first of the latest load that has it. At least half of
    // it is free.
    constexpr void note(std::uint32_t made) {
        single_ = single_ && entries_[made].what.count == 1;
        if (table_.size() < 2 * entries_.size()) {
            table_.assign(table_.empty() ? 16 : 2 * table_.size(), not_loaded);
            for (std::uint32_t e = 0; e != made; ++e) list(e);
        }
        list(made);
    }
    constexpr void list(std::uint32_t e) {
        std::uint32_t& listed = table_[slot_of(entries_[e].what)];
        if (listed == not_loaded || entries_[listed].load != entries_[e].load) listed = e;
    }
    // Where the slice is in the table, or would be.
    constexpr std::size_t slot_of(const slice& s) const noexcept {
        const std::uint64_t key = (std::uint64_t{s.first} << 32 | s.count) ^ std::uint64_t{s.buffer.index} << 17;
        std::size_t i = static_cast<std::size_t>(key * 0x9e37'79b9'7f4a'7c15u >> 32) & (table_.size() - 1);
        while (table_[i] != not_loaded && !(entries_[table_[i]].what == s)) i = (i + 1) & (table_.size() - 1);
        return i;
    }

    plain_list<plane> planes_; // by buffer
    plain_list<entry> entries_;
    plain_list<std::uint32_t> table_; // a hash table of entries
    std::uint32_t loads_ = 0, written_ = not_loaded;
    std::uint64_t most_ = 0;
    bool single_ = true; // no slice has several blocks
};

} // namespace bough::detail

#endif
