// SPDX-License-Identifier: BSL-1.0
// Writes and reads the bytes of a NIC program and of a message where there is no library at all: on
// a NIC's processor, or in a kernel.
//
//   nic::fixed_program<limits> program;
//   if (nic::decode(bytes, length, program) != nic::table_fault::none) ...    what a host has written
//   nic::message m;
//   nic::decode(frame, m);                                                   16 bytes; the payload follows
//
// The bytes are little endian on every processor. Fields come in the order of their declaration in
// bough/nic/machine.hpp, with nothing between them. A program is: header, 32 bytes | steps, 16 each
// | slots, 8 | counters, 8 | inlets, 8. The checksum is FNV-1a, 32 bits, of all bytes with the
// checksum itself as zeros: it finds damage, but is no defence against malice. The machine can run
// whatever decode accepts without touching foreign memory. bough/nic/program.hpp has the same on
// spans.
#ifndef BOUGH_NIC_WIRE_HPP
#define BOUGH_NIC_WIRE_HPP

#include <bough/nic/machine.hpp>

namespace bough::inline BOUGH_ABI::nic {

// What is wrong with one program's table by itself, without a look at the other ranks' programs.
enum class table_fault : u8 {
    none,
    length,   // it is not as long as its header says
    magic,    // it is no program
    version,  // it is of another version
    checksum, // it was damaged
    room,     // it is larger than the memory it is to be read into
    header,   // a rank beyond the ranks, too many banks, or reserved bits
    step,     // an index out of range, or an unknown kind
    slot,     // beyond the bank's memory, or a message's slot with more than 65535 elements
    counter,  // an increment of 0, more primed than the increment, or steps out of range
    inlet,    // an index out of range
    bell,     // inlet 0 does not take this rank's own bell
};

// One sentence for each fault.
constexpr const char* describe(table_fault f) noexcept {
    switch (f) {
    case table_fault::none: return "the table is sound";
    case table_fault::length: return "the table is not as long as its header says";
    case table_fault::magic: return "this is no NIC program";
    case table_fault::version: return "the program is of another version";
    case table_fault::checksum: return "the checksum does not match: the table was damaged";
    case table_fault::room: return "the program is larger than the memory it is to be read into";
    case table_fault::header: return "the header names a rank that is not there, too many banks, or sets reserved bits";
    case table_fault::step: return "a step is of an unknown kind, or names a slot or counter that is not there";
    case table_fault::slot: return "a slot reaches beyond the memory of a bank, or is longer than a message can say";
    case table_fault::counter:
        return "a counter needs no bump, begins with more than it needs, or names steps that are not there";
    case table_fault::inlet: return "an inlet names a slot, counter or rank that is not there";
    case table_fault::bell: return "the first inlet is not the bell";
    }
    return "";
}

// Bytes of a header.
inline constexpr index_t header_bytes = 32;
inline constexpr index_t encoded_message_bytes = 16; // a message without its payload
inline constexpr u8 most_bank_bits = 8;

// How many bytes a program with this header takes.
constexpr index_t encoded_bytes(const header& h) noexcept {
    return header_bytes + index_t{h.steps} * 16 + (index_t{h.slots} + index_t{h.counters} + index_t{h.inlets}) * 8;
}

// Does a program with this header fit in tables and states of this size?
constexpr bool fits(const header& h, const limits& room) noexcept {
    return h.steps <= room.steps && h.slots <= room.slots && h.counters <= room.counters && h.inlets <= room.inlets &&
           h.elements <= room.elements && h.bank_bits < 32 && (u32{1} << h.bank_bits) <= room.banks;
}

// Checks that every index of a table is in range. Returns the first fault, or none.
template <class Program>
constexpr table_fault sound(const Program& p) noexcept {
    const header& h = p.head;
    if (h.magic != program_magic) return table_fault::magic;
    if (h.version != program_version) return table_fault::version;
    if (h.rank >= h.ranks || h.ranks == no_index || h.bank_bits > most_bank_bits || h.flags != 0)
        return table_fault::header;
    const auto is_slot = [&](u16 i) { return i < h.slots; };
    const auto is_counter = [&](u16 i) { return i < h.counters; };
    // message.count has 16 bits.
    const auto is_too_long = [&](u16 i) { return i != no_index && p.slots[i].count > 0xffff; };
    for (u32 i = 0; i != h.slots; ++i)
        if (p.slots[i].first > h.elements || p.slots[i].count > h.elements - p.slots[i].first) return table_fault::slot;
    for (u32 i = 0; i != h.counters; ++i) {
        const counter& c = p.counters[i];
        if (c.increment == 0 || c.primed > c.increment || c.first_step > h.steps || c.steps > h.steps - c.first_step)
            return table_fault::counter;
    }
    for (u32 i = 0; i != h.inlets; ++i) {
        const inlet& in = p.inlets[i];
        if (in.from == no_index && i != bell_inlet) continue; // nobody may send here
        if (in.from >= h.ranks || (in.slot != no_index && !is_slot(in.slot)) || !is_counter(in.counter) ||
            in.flags > (inlet_accumulates | inlet_credit))
            return table_fault::inlet;
        if (in.slot != no_index && (in.flags & inlet_credit) != 0) return table_fault::inlet;
        if (is_too_long(in.slot)) return table_fault::slot;
    }
    if (h.inlets == 0 || p.inlets[bell_inlet].from != h.rank || p.inlets[bell_inlet].flags != 0)
        return table_fault::bell;
    if (h.steps == 0) return table_fault::step;
    for (u32 i = 0; i != h.steps; ++i) {
        const step& s = p.steps[i];
        if (!is_counter(s.wait) || (s.bump != no_index && !is_counter(s.bump)) || s.flags != 0)
            return table_fault::step;
        const bool has_a = is_slot(s.a), has_b = is_slot(s.b), has_out = is_slot(s.out);
        const bool no_a = s.a == no_index, no_b = s.b == no_index, no_out = s.out == no_index,
                   no_peer = s.peer == no_index;
        bool good = false;
        switch (s.what) {
        case kind::combine:
            good = has_a && has_b && has_out && no_peer && p.slots[s.a].count == p.slots[s.b].count &&
                   p.slots[s.a].count == p.slots[s.out].count;
            break;
        case kind::copy:
            good = has_a && no_b && has_out && no_peer && p.slots[s.a].count == p.slots[s.out].count;
            break;
        case kind::send: good = (has_a || no_a) && no_b && (s.peer < h.ranks || s.peer == everyone); break;
        case kind::count: good = no_a && no_b && no_out && no_peer && s.bump != no_index; break;
        case kind::notify: good = (has_a || no_a) && no_b && no_out && no_peer; break;
        case kind::unused: break;
        }
        if (!good) return table_fault::step;
        if (s.what == kind::send && is_too_long(s.a)) return table_fault::slot;
    }
    return table_fault::none;
}

namespace detail {

// These call f(field) for every field, in the order of the encoding. Pre: the arrays have the sizes
// that the header says.
constexpr void visit_header(auto& h, auto&& f) {
    f(h.magic), f(h.version), f(h.bank_bits), f(h.flags), f(h.rank), f(h.ranks), f(h.steps), f(h.slots), f(h.counters);
    f(h.inlets), f(h.elements), f(h.stream), f(h.checksum);
}
constexpr void visit_message(auto& m, auto&& f) { f(m.stream), f(m.epoch), f(m.from), f(m.to), f(m.inlet), f(m.count); }
constexpr void visit_tables(auto& p, auto&& f) {
    for (u32 i = 0; i != p.head.steps; ++i) {
        auto& s = p.steps[i];
        f(s.what), f(s.flags), f(s.peer), f(s.a), f(s.b), f(s.out), f(s.wait), f(s.threshold), f(s.bump);
    }
    for (u32 i = 0; i != p.head.slots; ++i) f(p.slots[i].first), f(p.slots[i].count);
    for (u32 i = 0; i != p.head.counters; ++i) {
        auto& c = p.counters[i];
        f(c.increment), f(c.primed), f(c.first_step), f(c.steps);
    }
    for (u32 i = 0; i != p.head.inlets; ++i) {
        auto& in = p.inlets[i];
        f(in.from), f(in.slot), f(in.counter), f(in.flags);
    }
}

struct byte_hash {
    u32 value = 0x811c'9dc5u;
    template <class Field>
    constexpr void operator()(const Field& field) noexcept {
        const u32 bits = static_cast<u32>(field);
        for (u32 i = 0; i != sizeof(Field); ++i) value = (value ^ (bits >> (8 * i) & 0xff)) * 0x0100'0193u;
    }
};
struct byte_writer {
    u8* at;
    template <class Field>
    constexpr void operator()(const Field& field) noexcept {
        const u32 bits = static_cast<u32>(field);
        for (u32 i = 0; i != sizeof(Field); ++i) *at++ = static_cast<u8>(bits >> (8 * i));
    }
};
struct byte_reader {
    const u8* at;
    template <class Field>
    constexpr void operator()(Field& field) noexcept {
        u32 bits = 0;
        for (u32 i = 0; i != sizeof(Field); ++i) bits |= u32{*at++} << (8 * i);
        field = static_cast<Field>(bits);
    }
};

} // namespace detail

// The checksum that a program must have.
template <class Program>
constexpr u32 checksum_of(const Program& p) noexcept {
    detail::byte_hash hash;
    header h = p.head;
    h.checksum = 0;
    detail::visit_header(h, hash);
    detail::visit_tables(p, hash);
    return hash.value;
}

// Pre: encoded_bytes(p.head) bytes are at `bytes`; the arrays have the sizes that the header says.
template <class Program>
constexpr void encode(const Program& p, u8* bytes) noexcept {
    detail::byte_writer put{bytes};
    detail::visit_header(p.head, put);
    detail::visit_tables(p, put);
}

// Reads a program of `length` bytes. `make_room(head)` gives p's arrays their sizes, and returns
// false if it cannot. Use `p` only if the answer is none.
template <class Program, class MakeRoom>
constexpr table_fault decode(const u8* bytes, index_t length, Program& p, MakeRoom&& make_room) {
    if (length < header_bytes) return table_fault::length;
    detail::byte_reader get{bytes};
    detail::visit_header(p.head, get);
    if (p.head.magic != program_magic) return table_fault::magic;
    if (p.head.version != program_version) return table_fault::version;
    if (length != encoded_bytes(p.head)) return table_fault::length;
    if (!make_room(p.head)) return table_fault::room;
    detail::visit_tables(p, get);
    if (checksum_of(p) != p.head.checksum) return table_fault::checksum;
    return sound(p);
}
template <limits L>
constexpr table_fault decode(const u8* bytes, index_t length, fixed_program<L>& p) noexcept {
    return decode(bytes, length, p, [](const header& h) { return fits(h, L); });
}

// Write and read what travels before the payload. Pre: encoded_message_bytes bytes are at `bytes`.
// Any bytes are a message; deliver says whether it is for this program.
constexpr void encode(const message& m, u8* bytes) noexcept { detail::visit_message(m, detail::byte_writer{bytes}); }
constexpr void decode(const u8* bytes, message& m) noexcept { detail::visit_message(m, detail::byte_reader{bytes}); }

} // namespace bough::nic

#endif
