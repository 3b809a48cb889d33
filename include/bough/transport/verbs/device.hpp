// SPDX-License-Identifier: BSL-1.0
// The device that moves bytes through libibverbs: a card, with one reliable connection to every
// other rank. It is an RdmaDevice (rdma/device.hpp).
//
// All connections share one completion queue and one queue of posted receives. So the number of
// receive buffers depends on the group and not on each peer. If a sender finds no buffer, its card
// waits and tries again (RNR), and nothing is lost. The device counts the sends to each peer that
// are under way, so that neither a send queue nor the completion queue can overflow.
#ifndef BOUGH_TRANSPORT_VERBS_DEVICE_HPP
#define BOUGH_TRANSPORT_VERBS_DEVICE_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>
#include <bough/transport/verbs/card.hpp>
#include <bough/transport/verbs/options.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <infiniband/verbs.h>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class verbs_device {
public:
    using options_type = verbs_options;
    using memory = unique_ibv<ibv_mr>;
    static constexpr measured_costs costs = fabric_costs;
    static constexpr bool tags = false, probes = true, written_uses_receive = true;
    // The card may read from any registered memory; only memory that it writes into needs a right.
    static constexpr std::uint64_t sends = 0, writes_from = 0, receives = IBV_ACCESS_LOCAL_WRITE,
                                   is_written = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

    status open(const verbs_options& options) {
        if (options.ack_timeout < 1 || options.ack_timeout > 31)
            return invalid_argument("ack_timeout: must be 1 to 31");
        if (options.level > 15) return invalid_argument("level: at most 15");
        options_ = options;
        if (const status bad = open_verbs_port(options, port_)) return bad;
        domain_.reset(ibv_alloc_pd(port_.context.get()));
        if (!domain_) return {.code = errc::no_resources};
        ibv_device_attr limits{};
        if (ibv_query_device(port_.context.get(), &limits) != 0) return {.code = errc::unsupported};
        most_completions_ = static_cast<std::uint32_t>(limits.max_cqe);
        most_in_queue_ = static_cast<std::uint32_t>(limits.max_qp_wr);
        ibv_srq_init_attr shared{};
        shared.attr.max_wr = most_receives_ = static_cast<std::uint32_t>(std::min(limits.max_srq_wr, 512));
        shared.attr.max_sge = 1;
        receives_.reset(ibv_create_srq(domain_.get(), &shared));
        if (!receives_) return {.code = errc::unsupported, .argument = "device: has no shared receive queues"};
        return {};
    }
    static constexpr const char* provider() noexcept { return "verbs"; }
    const char* name() const noexcept { return ibv_get_device_name(port_.context->device); }
    std::size_t most_bytes() const noexcept { return static_cast<std::size_t>(most_bytes_); }
    // How many buffers; queues have limits of their own.
    std::size_t most_sends() const noexcept { return 512; }
    std::size_t most_receives() const noexcept { return most_receives_; }
    std::size_t most_injected() const noexcept { return most_inlined_; }

    status describe(fabric_card& card, rank_t ranks) {
        peers_ = std::vector<peer>(ranks);
        const std::size_t count = std::min<std::size_t>(ranks, most_wire_up_bytes / sizeof(std::uint32_t));
        numbers_ = {std::vector<std::uint32_t>(count), std::vector<std::uint32_t>(count * ranks),
                    std::vector<std::uint32_t>(ranks)};
        std::random_device random;
        port_.address.first_packet = random() & 0xff'ffff;
        static_assert(sizeof(verbs_address) <= fabric_card::most_address_bytes);
        std::memcpy(card.address.data(), &port_.address, card.address_bytes = sizeof(verbs_address));
        return {};
    }

    // Connects to every rank; for that the ranks exchange the numbers of their connections.
    template <WireUp W>
    status connect(W& wire, std::span<const fabric_card> cards, rank_t me, std::uint64_t last_ns) {
        const std::size_t size = cards.size();
        if (const status bad = make_queues(size, me)) return bad;
        auto [some, all, theirs] = std::exchange(numbers_, {});
        for (std::size_t first = 0; first < size; first += some.size()) {
            const std::size_t count = std::min(some.size(), size - first);
            for (std::size_t i = 0; i != count; ++i) some[i] = first + i != me ? peers_[first + i].queue->qp_num : 0;
            if (const status bad = wire.exchange(std::as_bytes(std::span(some).first(count)),
                                                 std::as_writable_bytes(std::span(all).first(count * size)),
                                                 time_left(steady_now_ns(), last_ns)))
                return bad;
            if (me < first || me >= first + count) continue;
            for (std::size_t r = 0; r != size; ++r) theirs[r] = all[r * count + (me - first)];
        }
        for (std::size_t r = 0; r != size; ++r) {
            if (r == me) continue;
            if (status bad = connect_queue(*peers_[r].queue, cards[r], theirs[r]))
                return bad.peer = static_cast<rank_t>(r), bad;
        }
        return {};
    }

    bool register_memory(std::span<const std::byte> bytes, std::uint64_t use, memory& registered) {
        registered.reset(::ibv_reg_mr(domain_.get(), const_cast<std::byte*>(bytes.data()), bytes.size(),
                                      static_cast<unsigned>(use)));
        return registered != nullptr;
    }
    static void* descriptor(const memory& m) noexcept { return m.get(); }
    static std::uint64_t remote_address(const std::byte* first) noexcept {
        return reinterpret_cast<std::uintptr_t>(first);
    }
    static std::uint64_t remote_key(const memory& m) noexcept { return m->rkey; }

    // --- Operations ---

    bool receive(fabric_buffer& b, std::size_t longest) {
        ibv_sge part = part_of({b.memory, longest}, b.descriptor);
        ibv_recv_wr request{}, *bad = nullptr;
        request.wr_id = id_of(b.op);
        request.sg_list = &part;
        request.num_sge = 1;
        return ibv_post_srq_recv(receives_.get(), &request, &bad) == 0;
    }
    fabric_result send(rank_t to, fabric_buffer& b) {
        return post(to, b.op, IBV_WR_SEND, part_of({b.memory, b.length}, b.descriptor));
    }
    fabric_result inject(rank_t to, std::span<const std::byte> bytes) {
        return post(to, peers_[to].injected, IBV_WR_SEND, part_of(bytes, nullptr), IBV_SEND_INLINE);
    }
    fabric_result write(rank_t to, const fabric_piece& p, std::uint64_t address, std::uint64_t key,
                        std::uint32_t ticket) {
        ibv_send_wr request{};
        request.imm_data = to_network(ticket);
        request.wr.rdma.remote_addr = address;
        request.wr.rdma.rkey = static_cast<std::uint32_t>(key);
        return post(to, *p.op, IBV_WR_RDMA_WRITE_WITH_IMM, part_of(p.bytes, p.descriptor), 0, request);
    }
    // Writes nothing to the peer. Its card acknowledges that as long as the peer's process is
    // there.
    void probe(rank_t r) {
        if (peers_[r].under_way == 0) post(r, peers_[r].injected, IBV_WR_RDMA_WRITE, {}, 0);
    }

    std::size_t poll(std::span<fabric_done> done) {
        std::array<ibv_wc, 8> ended;
        const auto most = static_cast<int>(std::min(done.size(), ended.size()));
        std::size_t found = 0;
        while (found == 0) {
            const int n = completions_ ? ibv_poll_cq(completions_.get(), most, ended.data()) : 0;
            for (int i = 0; i < n; ++i) found += tell(ended[static_cast<std::size_t>(i)], done[found]);
            if (n <= 0) break;
        }
        return found;
    }
    // Whether the peers' cards have acknowledged everything.
    bool all_sent() const noexcept { return under_way_ == 0; }
    static constexpr bool sends_alone() noexcept { return true; } // the card needs no help
    static constexpr bool opens_files() noexcept { return false; }
    // What is under way to the rank fails now, and the rank cannot write here any more.
    void disconnect(rank_t r) noexcept {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        if (peers_[r].queue) ibv_modify_qp(peers_[r].queue.get(), &attributes, IBV_QP_STATE);
    }

    // From here on the card touches no memory of this rank.
    void close_endpoint() noexcept {
        for (peer& p : peers_) p.queue.reset();
        under_way_ = 0;
        completions_.reset();
        receives_.reset();
    }
    // In a forked child: forgets everything without closing it, because it belongs to the parent.
    void abandon() noexcept {
        for (peer& p : peers_) (void)p.queue.release();
        (void)completions_.release();
        (void)receives_.release();
        (void)domain_.release();
        (void)port_.context.release();
    }

private:
    struct peer {
        unique_ibv<ibv_qp> queue{};
        std::uint32_t under_way = 0; // sends whose end the card has not reported
        fabric_op injected{};        // shared by all sends that have no operation of their own
    };
    struct numbers {                       // the connection numbers that ranks exchange
        std::vector<std::uint32_t> some;   // those of this rank's ends that go out in one exchange
        std::vector<std::uint32_t> all;    // those of every rank from one exchange
        std::vector<std::uint32_t> theirs; // those of the ends to which this rank's ends connect
    };

    static std::uint32_t to_network(std::uint32_t x) noexcept {
        if constexpr (std::endian::native == std::endian::big) return x;
        return __builtin_bswap32(x);
    }
    static std::uint64_t id_of(fabric_op& op) noexcept { return reinterpret_cast<std::uintptr_t>(&op); }
    static ibv_sge part_of(std::span<const std::byte> bytes, void* descriptor) noexcept {
        return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
                descriptor != nullptr ? static_cast<const ibv_mr*>(descriptor)->lkey : 0};
    }

    fabric_result post(rank_t to, fabric_op& op, ibv_wr_opcode what, ibv_sge part, unsigned flags = 0,
                       ibv_send_wr request = {}) {
        peer& p = peers_[to];
        if (p.under_way == deep_ || under_way_ == most_under_way_) return fabric_result::full;
        ibv_send_wr* bad = nullptr;
        request.wr_id = id_of(op);
        request.opcode = what;
        request.send_flags = IBV_SEND_SIGNALED | flags;
        request.sg_list = &part;
        request.num_sge = part.length == 0 ? 0 : 1;
        op.peer = to;
        const int code = ibv_post_send(p.queue.get(), &request, &bad);
        if (code == ENOMEM || code == EAGAIN) return fabric_result::full;
        if (code != 0) return fabric_result::broken;
        ++p.under_way, ++under_way_;
        return fabric_result::ok;
    }
    // Translates one completion. False: nobody needs to know of it.
    bool tell(const ibv_wc& w, fabric_done& done) noexcept {
        fabric_op& op = *reinterpret_cast<fabric_op*>(static_cast<std::uintptr_t>(w.wr_id));
        const bool good = w.status == IBV_WC_SUCCESS;
        if (op.kind != fabric_op::what::receive) {
            --peers_[op.peer].under_way, --under_way_;
            if (good && op.kind == fabric_op::what::injected) return false;
            done = {.op = &op};
        } else if (good && w.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
            done = {.op = &op, .how = fabric_done::way::written, .ticket = to_network(w.imm_data)};
        } else {
            done = {.op = &op, .bytes = w.byte_len};
        }
        if (!good) done.how = fabric_done::way::failed;
        return true;
    }

    status make_queues(std::size_t size, rank_t me) {
        const auto others = static_cast<std::uint32_t>(size - 1);
        const std::uint32_t room = most_completions_ > most_receives_ ? most_completions_ - most_receives_ : 0;
        deep_ =
            std::min(most_in_queue_, std::clamp(others == 0 ? 64 : room / others, std::uint32_t{4}, std::uint32_t{64}));
        most_under_way_ = std::min(room, deep_ * others);
        const auto entries = static_cast<int>(most_receives_ + std::max(most_under_way_, std::uint32_t{1}));
        completions_.reset(ibv_create_cq(port_.context.get(), entries, nullptr, nullptr, 0));
        if (!completions_) return {.code = errc::no_resources};
        most_inlined_ = 256;
        for (rank_t r = 0; r != size; ++r) {
            peers_[r].injected.kind = fabric_op::what::injected;
            if (r == me) continue;
            if (const status bad = make_queue(peers_[r].queue)) return bad;
        }
        return {};
    }
    status make_queue(unique_ibv<ibv_qp>& queue) {
        ibv_qp_init_attr made{};
        do { // some cards take less inline than others, and say so only by failing
            made = {};
            made.send_cq = made.recv_cq = completions_.get();
            made.srq = receives_.get();
            made.qp_type = IBV_QPT_RC;
            made.cap.max_send_wr = deep_;
            made.cap.max_send_sge = 1;
            made.cap.max_inline_data = static_cast<std::uint32_t>(most_inlined_);
            queue.reset(ibv_create_qp(domain_.get(), &made));
        } while (!queue && std::exchange(most_inlined_, most_inlined_ / 2) != 0);
        if (!queue) return {.code = errc::no_resources};
        most_inlined_ = std::min<std::size_t>(most_inlined_, made.cap.max_inline_data);
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT;
        a.port_num = port_.number;
        a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        const int what = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        return ibv_modify_qp(queue.get(), &a, what) == 0 ? status{} : status{.code = errc::no_resources};
    }
    // Connects to one peer: from here on both may send.
    status connect_queue(ibv_qp& queue, const fabric_card& card, std::uint32_t number) {
        verbs_address there;
        std::memcpy(&there, card.address.data(), sizeof there);
        most_bytes_ = std::min({most_bytes_, port_.address.most_bytes, there.most_bytes});
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_RTR;
        a.path_mtu = static_cast<ibv_mtu>(std::min(port_.address.mtu, there.mtu));
        a.dest_qp_num = number;
        a.rq_psn = there.first_packet;
        a.max_dest_rd_atomic = 1;
        a.min_rnr_timer = 1; // 10 us
        port_.reach(there, options_.level, a.ah_attr);
        const int ready = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        if (ibv_modify_qp(&queue, &a, ready) != 0) return {.code = errc::peer_dead};
        a = {};
        a.qp_state = IBV_QPS_RTS;
        a.timeout = options_.ack_timeout;
        a.retry_cnt = 6; // some cards take 7 to mean "for ever"
        a.rnr_retry = 7; // "for ever": a receiver that is busy is not gone
        a.sq_psn = port_.address.first_packet;
        a.max_rd_atomic = 1;
        const int open = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC;
        return ibv_modify_qp(&queue, &a, open) == 0 ? status{} : status{.code = errc::peer_dead};
    }

    verbs_options options_;
    std::uint32_t most_completions_ = 0, most_receives_ = 0, most_in_queue_ = 0;
    std::uint32_t deep_ = 0;                           // how many sends to one peer may be under way
    std::uint32_t most_under_way_ = 0, under_way_ = 0; // how many to all peers may be, and are
    std::size_t most_inlined_ = 0;
    std::uint64_t most_bytes_ = std::uint64_t{1} << 30;
    // Members are destroyed from the last to the first, which is the order in which libibverbs
    // wants them closed.
    verbs_port port_;
    unique_ibv<ibv_pd> domain_;
    unique_ibv<ibv_cq> completions_;
    unique_ibv<ibv_srq> receives_;
    std::vector<peer> peers_;
    numbers numbers_;
};

} // namespace bough::detail

#endif
