// SPDX-License-Identifier: BSL-1.0
// An MPI program that knows nothing of bough: every collective with many types, ops, roots, counts
// and communicators. What a rank gives follows from its number, so every rank computes by itself what must
// come out: by MPI_Reduce_local in rank order, MPI_Pack and MPI_Unpack. It compares whole buffers, gaps
// too. Prints one line for each fault; exit status 1 if there is any. TEST_NONBLOCKING=1: the nonblocking
// forms; TEST_PERSISTENT=1: the persistent ones.
//
//   mpirun -n 4 every_collective [all|some] [seed] [host]     host: nothing that an MPI's own cannot do
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mpi.h>
#include <string>
#include <vector>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif

namespace {

using bytes = std::vector<unsigned char>;

int faults = 0, calls = 0;

// What an element is made of, in the order in which it travels.
struct leaf {
    std::size_t size;
    std::function<void(unsigned char*, unsigned)> set; // writes a small number
};
template <class T>
leaf leaf_of() {
    return {sizeof(T), [](unsigned char* to, unsigned v) {
                bytes zero(sizeof(T)); // the padding of a long double
                const T value = static_cast<T>(v);
                std::memcpy(zero.data(), &value, sizeof(T) == 16 ? 10 : sizeof(T));
                std::memcpy(to, zero.data(), sizeof(T));
            }};
}

struct kind {
    std::string name;
    MPI_Datatype type;
    std::vector<leaf> leaves;
    std::vector<std::pair<const char*, MPI_Op>> ops;
    unsigned most = 3;       // values are less: products of 8 ranks must be exact
    bool is_complex = false; // products in another bracket may have zeros of the other sign
};

// The memory of `n` elements of a type, full of a pattern.
class image {
public:
    image(const kind& k, std::size_t n) : kind_(&k) {
        MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
        MPI_Type_get_extent(k.type, &lb, &extent);
        MPI_Type_get_true_extent(k.type, &true_lb, &true_extent);
        const MPI_Aint last = n == 0 ? 0 : static_cast<MPI_Aint>(n - 1) * extent;
        from_ = std::min<MPI_Aint>(0, last) + true_lb;
        memory_.assign(static_cast<std::size_t>(std::max<MPI_Aint>(0, last) + true_lb + true_extent - from_) + 64,
                       0xa5);
    }
    void* address() {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_.data()) + 32 -
                                       static_cast<std::uintptr_t>(from_));
    }
    void put(const bytes& packed, std::size_t n, std::size_t at = 0) {
        if (n == 0 || packed.empty()) return;
        int position = 0;
        MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, element(at), static_cast<int>(n),
                   kind_->type, MPI_COMM_SELF);
    }
    bytes get(std::size_t n, std::size_t at = 0) {
        int size = 0, position = 0;
        MPI_Type_size(kind_->type, &size);
        bytes packed(static_cast<std::size_t>(size) * n);
        if (!packed.empty())
            MPI_Pack(element(at), static_cast<int>(n), kind_->type, packed.data(), static_cast<int>(packed.size()),
                     &position, MPI_COMM_SELF);
        return packed;
    }
    void* element(std::size_t at) {
        MPI_Aint lb = 0, extent = 0;
        MPI_Type_get_extent(kind_->type, &lb, &extent);
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address()) +
                                       static_cast<std::uintptr_t>(static_cast<MPI_Aint>(at) * extent));
    }
    friend bool operator==(const image& a, const image& b) {
        if (!a.kind_->is_complex) return a.memory_ == b.memory_;
        const std::size_t size = a.kind_->leaves[0].size;
        const bytes x = a.memory_, y = b.memory_;
        for (std::size_t i = 32; i + size + 32 <= x.size(); i += size) {
            const bool same =
                size == 4 ? real<float>(x, i) == real<float>(y, i) : real<double>(x, i) == real<double>(y, i);
            if (!same) return false;
        }
        return true;
    }

private:
    template <class T>
    static T real(const bytes& memory, std::size_t at) {
        T value;
        std::memcpy(&value, memory.data() + at, sizeof(T));
        return value;
    }

    const kind* kind_;
    MPI_Aint from_ = 0;
    bytes memory_;
};

unsigned mixed(unsigned a, unsigned b, unsigned c) {
    std::uint64_t x = (a * 0x9e3779b97f4a7c15ull) ^ (b * 0xc2b2ae3d27d4eb4full) ^ (c * 0x165667b19e3779f9ull);
    x ^= x >> 29;
    return static_cast<unsigned>(x * 0xbf58476d1ce4e5b9ull >> 33);
}

// What rank r gives: n packed elements.
bytes given(const kind& k, std::size_t n, int r, unsigned seed) {
    bytes packed;
    for (std::size_t i = 0; i != n; ++i)
        for (std::size_t l = 0; l != k.leaves.size(); ++l) {
            packed.resize(packed.size() + k.leaves[l].size);
            k.leaves[l].set(packed.data() + packed.size() - k.leaves[l].size,
                            mixed(static_cast<unsigned>(r), static_cast<unsigned>(i * 7 + l), seed) % k.most);
        }
    return packed;
}
// What ranks [from, to) give, combined in rank order. Each gives n elements.
bytes combined(const kind& k, std::size_t n, int from, int to, unsigned seed, MPI_Op op) {
    image sum(k, n);
    sum.put(given(k, n, to - 1, seed), n);
    for (int r = to - 2; r >= from; --r) {
        image left(k, n);
        left.put(given(k, n, r, seed), n);
        MPI_Reduce_local(left.address(), sum.address(), static_cast<int>(n), k.type, op);
    }
    return sum.get(n);
}
bytes part(const bytes& all, std::size_t from, std::size_t n, std::size_t size) {
    return {all.begin() + static_cast<std::ptrdiff_t>(from * size),
            all.begin() + static_cast<std::ptrdiff_t>((from + n) * size)};
}

// In which form each call is made. Those that are only started are waited for.
enum class form { blocking, nonblocking, persistent } made_as = form::blocking;
template <class Blocking, class Nonblocking, class Initialise>
auto as_said(Blocking blocking, Nonblocking nonblocking, Initialise initialise) {
    return [=](auto... arguments) {
        if (made_as == form::blocking) return blocking(arguments...);
        MPI_Request request = MPI_REQUEST_NULL;
        int code = made_as == form::nonblocking ? nonblocking(arguments..., &request)
                                                : initialise(arguments..., MPI_INFO_NULL, &request);
        if (code == MPI_SUCCESS && made_as == form::persistent) code = MPI_Start(&request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (made_as == form::persistent) MPI_Request_free(&request);
        return code;
    };
}
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define FORMS(blocking, nonblocking) as_said(MPI_##blocking, MPI_##nonblocking, MPIX_##blocking##_init)
#elif MPI_VERSION >= 4
#define FORMS(blocking, nonblocking) as_said(MPI_##blocking, MPI_##nonblocking, MPI_##blocking##_init)
#else
#define FORMS(blocking, nonblocking) as_said(MPI_##blocking, MPI_##nonblocking, [](auto...) { return MPI_ERR_OTHER; })
#endif

struct setting {
    MPI_Comm comm;
    const char* comm_name;
    int rank, size;
    unsigned seed;
    bool by_host; // nothing that Open MPI's or MPICH's own collectives cannot do
};

void expect(const setting& s, const kind& k, const char* call, std::size_t n, const image& got, const image& wanted) {
    ++calls;
    if (got == wanted) return;
    if (++faults < 20)
        std::printf("WRONG: rank %d of %d of %s: %s of %zu %s\n", s.rank, s.size, s.comm_name, call, n, k.name.c_str());
}

std::size_t size_of(const kind& k) {
    std::size_t all = 0;
    for (const leaf& l : k.leaves) all += l.size;
    return all;
}

void reductions(const setting& s, const kind& k, std::size_t n, int root) {
    const int count = static_cast<int>(n);
    const std::size_t size = size_of(k);
    for (const auto& [op_name, op] : k.ops) {
        for (const bool in_place : {false, true}) {
            const std::string suffix = std::string(in_place ? " in place, " : ", ") + op_name;
            image in(k, n);
            in.put(given(k, n, s.rank, s.seed), n);
            const auto run = [&](const char* name, const bytes& result, bool has_result, auto&& call) {
                image out(k, n), wanted(k, n);
                if (in_place) out.put(given(k, n, s.rank, s.seed), n);
                if (has_result)
                    wanted.put(result, n);
                else if (in_place)
                    wanted.put(given(k, n, s.rank, s.seed), n);
                call(in_place ? MPI_IN_PLACE : in.address(), out.address());
                expect(s, k, (name + suffix).c_str(), n, out, wanted);
            };
            const bytes all = combined(k, n, 0, s.size, s.seed, op);
            run("allreduce", all, true, [&, &o = op](void* a, void* b) {
                FORMS(Allreduce, Iallreduce)(a, b, count, k.type, o, s.comm);
            });
            run("scan", combined(k, n, 0, s.rank + 1, s.seed, op), true, [&, &o = op](void* a, void* b) {
                FORMS(Scan, Iscan)(a, b, count, k.type, o, s.comm);
            });
            // On rank 0 nothing comes out of an exscan, and its buffer is not looked at.
            if (s.rank != 0)
                run("exscan", combined(k, n, 0, s.rank, s.seed, op), true, [&, &o = op](void* a, void* b) {
                    FORMS(Exscan, Iexscan)(a, b, count, k.type, o, s.comm);
                });
            else if (in_place) {
                image out(k, n);
                out.put(given(k, n, 0, s.seed), n);
                FORMS(Exscan, Iexscan)(MPI_IN_PLACE, out.address(), count, k.type, op, s.comm);
            } else {
                image out(k, n); // MPICH itself, which serves a rank alone, does look at it
                void* const nothing = s.size == 1 || s.by_host ? out.address() : nullptr;
                FORMS(Exscan, Iexscan)(in.address(), nothing, count, k.type, op, s.comm);
            }
            if (s.rank == root || !in_place)
                run("reduce", all, s.rank == root, [&, &o = op](void* a, void* b) {
                    FORMS(Reduce, Ireduce)(a, s.rank == root ? b : nullptr, count, k.type, o, root, s.comm);
                });
            else // only the root is in place
                FORMS(Reduce, Ireduce)(in.address(), nullptr, count, k.type, op, root, s.comm);

            const std::size_t ranks = static_cast<std::size_t>(s.size), me = static_cast<std::size_t>(s.rank);
            std::vector<int> counts(ranks);
            std::size_t total = 0, before = 0;
            for (std::size_t r = 0; r != ranks; ++r) {
                counts[r] = static_cast<int>((r * 3 + s.seed) % 4);
                if (r < me) before += static_cast<std::size_t>(counts[r]);
                total += static_cast<std::size_t>(counts[r]);
            }
            for (const bool equal : {false, true}) {
                const std::size_t whole = equal ? n * ranks : total;
                const std::size_t own = equal ? n : static_cast<std::size_t>(counts[me]);
                image from(k, whole), out(k, in_place ? whole : own), wanted(k, in_place ? whole : own);
                from.put(given(k, whole, s.rank, s.seed), whole);
                if (in_place) out.put(given(k, whole, s.rank, s.seed), whole);
                const bytes result = combined(k, whole, 0, s.size, s.seed, op);
                void* const a = in_place ? MPI_IN_PLACE : from.address();
                if (equal)
                    FORMS(Reduce_scatter_block, Ireduce_scatter_block)(a, out.address(), count, k.type, op, s.comm);
                else
                    FORMS(Reduce_scatter, Ireduce_scatter)(a, out.address(), counts.data(), k.type, op, s.comm);
                // In place, what lies behind the result is nobody's.
                if (in_place) wanted.put(out.get(whole), whole);
                wanted.put(part(result, equal ? n * me : before, own, size), own);
                expect(s, k, ((equal ? "reduce_scatter_block" : "reduce_scatter") + suffix).c_str(), whole, out,
                       wanted);
            }
        }
    }
}

// `other`: a type of the same leaves, used by the ranks of odd number, or by receivers.
void movements(const setting& s, const kind& k, const kind& other, std::size_t n, int root) {
    const std::size_t size = size_of(k), ranks = static_cast<std::size_t>(s.size),
                      me = static_cast<std::size_t>(s.rank);
    const int count = static_cast<int>(n);
    const kind& mine = s.rank % 2 == 1 ? other : k;
    const auto all_of = [&](std::size_t each) {
        bytes all;
        for (int r = 0; r != s.size; ++r) {
            const bytes one = given(k, each, r, s.seed);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    };
    { // broadcast
        image data(mine, n), wanted(mine, n);
        if (s.rank == root) data.put(given(k, n, root, s.seed), n);
        wanted.put(given(k, n, root, s.seed), n);
        FORMS(Bcast, Ibcast)(data.address(), count, mine.type, root, s.comm);
        expect(s, mine, "bcast", n, data, wanted);
    }
    for (const bool in_place : {false, true}) {
        const char* const suffix = in_place ? " in place" : "";
        image in(mine, n);
        in.put(given(k, n, s.rank, s.seed), n);
        const std::size_t whole = n * ranks;
        { // gather
            image out(other, whole), wanted(other, whole);
            const bool is_in_place = in_place && s.rank == root;
            if (is_in_place) out.put(given(k, n, s.rank, s.seed), n, n * me);
            if (s.rank == root) wanted.put(all_of(n), whole);
            FORMS(Gather, Igather)
            (is_in_place ? MPI_IN_PLACE : in.address(), count, mine.type, out.address(), count, other.type, root,
             s.comm);
            expect(s, other, (std::string("gather") + suffix).c_str(), n, out, wanted);
        }
        { // scatter
            image from(other, whole), out(mine, n), wanted(mine, n);
            const bool is_in_place = in_place && s.rank == root;
            const bytes all = given(k, whole, root, s.seed);
            if (s.rank == root) from.put(all, whole);
            if (!is_in_place) wanted.put(part(all, n * me, n, size), n);
            FORMS(Scatter, Iscatter)
            (from.address(), count, other.type, is_in_place ? MPI_IN_PLACE : out.address(), count, mine.type, root,
             s.comm);
            expect(s, mine, (std::string("scatter") + suffix).c_str(), n, out, wanted);
        }
        { // allgather
            image out(other, whole), wanted(other, whole);
            if (in_place) out.put(given(k, n, s.rank, s.seed), n, n * me);
            wanted.put(all_of(n), whole);
            FORMS(Allgather, Iallgather)
            (in_place ? MPI_IN_PLACE : in.address(), count, mine.type, out.address(), count, other.type, s.comm);
            expect(s, other, (std::string("allgather") + suffix).c_str(), n, out, wanted);
        }
        { // alltoall: rank r gives its element block q to rank q
            image from(mine, whole), out(other, whole), wanted(other, whole);
            from.put(given(k, whole, s.rank, s.seed), whole);
            if (in_place) out.put(given(k, whole, s.rank, s.seed), whole);
            for (int r = 0; r != s.size; ++r)
                wanted.put(part(given(k, whole, r, s.seed), n * me, n, size), n, n * static_cast<std::size_t>(r));
            FORMS(Alltoall, Ialltoall)
            (in_place ? MPI_IN_PLACE : from.address(), count, mine.type, out.address(), count, other.type, s.comm);
            expect(s, other, (std::string("alltoall") + suffix).c_str(), n, out, wanted);
        }
        // Blocks of different lengths, some of them empty. `spread`: with gaps, and the last rank's first.
        for (const bool spread : {false, true}) {
            const std::string called = std::string(suffix) + (spread ? " spread" : "");
            std::vector<int> counts(ranks), at(ranks);
            int next = 0;
            for (std::size_t r = 0; r != ranks; ++r) counts[r] = static_cast<int>((r + s.seed) % 3 * n);
            for (std::size_t i = 0; i != ranks; ++i) {
                const std::size_t r = spread ? ranks - 1 - i : i;
                at[r] = next;
                next += counts[r] + (spread ? 2 : 0);
            }
            const auto length = static_cast<std::size_t>(next);
            const auto own = static_cast<std::size_t>(counts[me]), place = static_cast<std::size_t>(at[me]);
            image own_in(mine, own);
            own_in.put(given(k, own, s.rank, s.seed), own);
            const auto put_all = [&](image& to) {
                for (std::size_t r = 0; r != ranks; ++r) {
                    const auto c = static_cast<std::size_t>(counts[r]);
                    to.put(given(k, c, static_cast<int>(r), s.seed), c, static_cast<std::size_t>(at[r]));
                }
            };
            { // allgatherv, gatherv
                for (const bool to_all : {true, false}) {
                    image out(other, length), wanted(other, length);
                    const bool has_result = to_all || s.rank == root, is_in_place = in_place && has_result;
                    if (is_in_place) out.put(given(k, own, s.rank, s.seed), own, place);
                    if (has_result) put_all(wanted);
                    void* const a = is_in_place ? MPI_IN_PLACE : own_in.address();
                    if (to_all) FORMS(Allgatherv, Iallgatherv)
                    (a, counts[me], mine.type, out.address(), counts.data(), at.data(), other.type, s.comm);
                    else // the others know no counts
                        FORMS(Gatherv, Igatherv)(a, counts[me], mine.type, out.address(),
                                                 s.rank == root ? counts.data() : nullptr,
                                                 s.rank == root ? at.data() : nullptr, other.type, root, s.comm);
                    expect(s, other, ((to_all ? "allgatherv" : "gatherv") + called).c_str(), n, out, wanted);
                }
            }
            { // scatterv
                image from(other, length), out(mine, own), wanted(mine, own);
                if (s.rank == root) put_all(from);
                const bool is_in_place = in_place && s.rank == root;
                if (!is_in_place) wanted.put(given(k, own, s.rank, s.seed), own);
                FORMS(Scatterv, Iscatterv)
                (from.address(), s.rank == root ? counts.data() : nullptr, s.rank == root ? at.data() : nullptr,
                 other.type, is_in_place ? MPI_IN_PLACE : out.address(), counts[me], mine.type, root, s.comm);
                expect(s, mine, ("scatterv" + called).c_str(), n, out, wanted);
            }
            { // alltoallv: the length of a block depends on the sum of both ranks, so that it is symmetric
                std::vector<int> lengths(ranks), places(ranks);
                int end = 0;
                for (std::size_t i = 0; i != ranks; ++i) {
                    const std::size_t r = spread ? ranks - 1 - i : i;
                    lengths[r] = static_cast<int>((r + me + s.seed) % 3 * n);
                    places[r] = end;
                    end += lengths[r] + (spread ? 1 : 0);
                }
                const auto to_me = [&](int r, std::size_t q) { // what rank r gives to rank q
                    return given(k, static_cast<std::size_t>((static_cast<std::size_t>(r) + q + s.seed) % 3 * n),
                                 r * 100 + static_cast<int>(q), s.seed);
                };
                image from(mine, static_cast<std::size_t>(end)), out(other, static_cast<std::size_t>(end)),
                    wanted(other, static_cast<std::size_t>(end));
                for (std::size_t r = 0; r != ranks; ++r) {
                    const auto c = static_cast<std::size_t>(lengths[r]), p = static_cast<std::size_t>(places[r]);
                    from.put(to_me(s.rank, r), c, p);
                    if (in_place) out.put(to_me(s.rank, r), c, p);
                    wanted.put(to_me(static_cast<int>(r), me), c, p);
                }
                FORMS(Alltoallv, Ialltoallv)
                (in_place ? MPI_IN_PLACE : from.address(), lengths.data(), places.data(), mine.type, out.address(),
                 lengths.data(), places.data(), other.type, s.comm);
                expect(s, other, ("alltoallv" + called).c_str(), n, out, wanted);
            }
        }
    }
}

// --- ops of the program ---

// 2 x 2 matrices modulo 7: associative, but a b is not b a. Four ints of each element are used.
void multiply(void* in, void* inout, int* n, MPI_Datatype* type) {
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i != *n; ++i) {
        int a[4], b[4];
        auto* const left = static_cast<unsigned char*>(in) + i * extent;
        auto* const right = static_cast<unsigned char*>(inout) + i * extent;
        // A type with gaps has an int in every other place.
        const std::size_t step = extent == 16 ? 4 : 8;
        for (std::size_t j = 0; j != 4; ++j) {
            std::memcpy(&a[j], left + j * step, 4);
            std::memcpy(&b[j], right + j * step, 4);
        }
        const int c[4] = {(a[0] * b[0] + a[1] * b[2]) % 7, (a[0] * b[1] + a[1] * b[3]) % 7,
                          (a[2] * b[0] + a[3] * b[2]) % 7, (a[2] * b[1] + a[3] * b[3]) % 7};
        for (std::size_t j = 0; j != 4; ++j) std::memcpy(right + j * step, &c[j], 4);
    }
}
void add_modulo(void* in, void* inout, int* n, MPI_Datatype*) {
    for (int i = 0; i != *n; ++i) {
        auto* const b = static_cast<int*>(inout) + i;
        *b = (*b + static_cast<int*>(in)[i]) % 5;
    }
}

struct known_types {
    std::vector<kind> all;
    MPI_Op product = MPI_OP_NULL, modulo = MPI_OP_NULL;

    known_types() {
        MPI_Op_create(multiply, 0, &product);
        MPI_Op_create(add_modulo, 1, &modulo);
        using ops = std::vector<std::pair<const char*, MPI_Op>>;
        const ops order{{"max", MPI_MAX}, {"min", MPI_MIN}}, numbers{{"sum", MPI_SUM}, {"prod", MPI_PROD}};
        const ops logic{{"land", MPI_LAND}, {"lor", MPI_LOR}, {"lxor", MPI_LXOR}};
        const ops bits{{"band", MPI_BAND}, {"bor", MPI_BOR}, {"bxor", MPI_BXOR}};
        const ops places{{"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC}};
        const auto joined = [](std::initializer_list<ops> some) {
            ops result;
            for (const ops& o : some) result.insert(result.end(), o.begin(), o.end());
            return result;
        };
        const ops integer = joined({order, numbers, logic, bits}), real = joined({order, numbers});
        add<int>("MPI_INT", MPI_INT, joined({integer, {{"of the program", modulo}}}));
        add<long>("MPI_LONG", MPI_LONG, integer);
        add<short>("MPI_SHORT", MPI_SHORT, integer);
        add<unsigned char>("MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, integer);
        add<std::int8_t>("MPI_INT8_T", MPI_INT8_T, integer);
        add<std::uint16_t>("MPI_UINT16_T", MPI_UINT16_T, integer);
        add<std::uint64_t>("MPI_UINT64_T", MPI_UINT64_T, integer);
        add<long long>("MPI_LONG_LONG", MPI_LONG_LONG, integer);
        add<float>("MPI_FLOAT", MPI_FLOAT, real);
        add<double>("MPI_DOUBLE", MPI_DOUBLE, real);
        add<long double>("MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, real);
        add<unsigned char>("MPI_BYTE", MPI_BYTE, bits);
        add<bool>("MPI_C_BOOL", MPI_C_BOOL, logic, 2);
        add<int>("MPI_INTEGER", MPI_INTEGER, joined({order, numbers, bits}));
        add<double>("MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, real);
        add<int>("MPI_LOGICAL", MPI_LOGICAL, logic, 2);
        several<float>("MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, 2, numbers);
        several<double>("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 2, numbers);
        several<double>("MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, 2, {{"sum", MPI_SUM}});
        for (std::size_t i = all.size() - 3; i != all.size(); ++i) all[i].is_complex = true;
        pair<float>("MPI_FLOAT_INT", MPI_FLOAT_INT, places);
        pair<double>("MPI_DOUBLE_INT", MPI_DOUBLE_INT, places);
        pair<long>("MPI_LONG_INT", MPI_LONG_INT, places);
        pair<short>("MPI_SHORT_INT", MPI_SHORT_INT, places);
        pair<int>("MPI_2INT", MPI_2INT, places);

        MPI_Datatype t = MPI_DATATYPE_NULL;
        const ops matrices{{"of the program, in order", product}};
        MPI_Type_contiguous(4, MPI_INT, &t);
        several<int>("4 ints", commit(t), 4, matrices, 7);
        MPI_Type_vector(4, 1, 2, MPI_INT, &t);
        several<int>("4 ints with gaps", commit(t), 4, matrices, 7);
        MPI_Datatype resized = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(t, 0, 40, &resized);
        several<int>("4 ints with gaps, and between", commit(resized), 4, matrices, 7);
        MPI_Type_contiguous(4, MPI_INT, &t);
        MPI_Type_create_resized(t, 0, -16, &resized);
        several<int>("4 ints backwards", commit(resized), 4, {});
        const int lengths[] = {1, 2, 1};
        const MPI_Aint places_of[] = {8, 100, 0}; // not in the order of memory
        MPI_Type_create_hindexed(3, lengths, places_of, MPI_INT, &t);
        several<int>("4 ints in another order", commit(t), 4, {});
        const MPI_Aint swapped[] = {4, 0};
        const int ones[] = {1, 1};
        MPI_Type_create_hindexed(2, ones, swapped, MPI_INT, &t);
        MPI_Datatype twice = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, t, &twice);
        several<int>("4 ints, swapped in pairs", commit(twice), 4, {});
        const MPI_Aint far[] = {-24};
        const int four[] = {4};
        MPI_Type_create_hindexed(1, four, far, MPI_INT, &t);
        several<int>("4 ints before their address", commit(t), 4, {});
    }

private:
    static MPI_Datatype commit(MPI_Datatype t) {
        MPI_Type_commit(&t);
        return t;
    }
    template <class T>
    void add(const char* name, MPI_Datatype t, std::vector<std::pair<const char*, MPI_Op>> ops, unsigned most = 3) {
        all.push_back({name, t, {leaf_of<T>()}, std::move(ops), most});
    }
    template <class T>
    void several(const char* name, MPI_Datatype t, std::size_t n, std::vector<std::pair<const char*, MPI_Op>> ops,
                 unsigned most = 3) {
        all.push_back({name, t, std::vector<leaf>(n, leaf_of<T>()), std::move(ops), most});
    }
    template <class T>
    void pair(const char* name, MPI_Datatype t, std::vector<std::pair<const char*, MPI_Op>> ops) {
        all.push_back({name, t, {leaf_of<T>(), leaf_of<int>()}, std::move(ops), 3});
    }
};

// Data at absolute addresses, with MPI_BOTTOM; and nothing at all.
void corners(const setting& s, int root) {
    int first[3] = {s.rank, s.rank + 1, s.rank + 2}, second = s.rank * 10;
    MPI_Aint at[2] = {0, 0};
    MPI_Get_address(first, &at[0]);
    MPI_Get_address(&second, &at[1]);
    const int lengths[2] = {3, 1};
    MPI_Datatype absolute = MPI_DATATYPE_NULL, empty = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    FORMS(Bcast, Ibcast)(MPI_BOTTOM, 1, absolute, root, s.comm);
    faults += first[0] != root || first[1] != root + 1 || first[2] != root + 2 || second != root * 10;
    std::vector<int> all(static_cast<std::size_t>(4 * s.size));
    second = s.rank;
    FORMS(Allgather, Iallgather)(MPI_BOTTOM, 1, absolute, all.data(), 4, MPI_INT, s.comm);
    for (int r = 0; r != s.size; ++r) faults += all[static_cast<std::size_t>(4 * r + 3)] != r;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    if (!s.by_host) { // nothing, said in two ways
        FORMS(Bcast, Ibcast)(first, s.rank % 2, empty, root, s.comm);
        FORMS(Gather, Igather)(first, s.rank % 2, empty, &second, 1, empty, root, s.comm);
        FORMS(Allgather, Iallgather)(first, s.rank % 2, empty, &second, 0, empty, s.comm);
    }
    FORMS(Allreduce, Iallreduce)(nullptr, nullptr, 0, MPI_INT, MPI_SUM, s.comm);
    FORMS(Alltoall, Ialltoall)(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, s.comm);
    MPI_Type_free(&absolute);
    MPI_Type_free(&empty);
    FORMS(Barrier, Ibarrier)(s.comm);
    calls += 8;
}

} // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, std::getenv("TEST_THREADS") != nullptr ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    const bool all = argc > 1 && std::string(argv[1]) == "all";
    const bool by_host = argc > 3;
    const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    {
        int rank = 0, size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        std::vector<std::pair<const char*, MPI_Comm>> comms{{"MPI_COMM_WORLD", MPI_COMM_WORLD}};
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        comms.emplace_back("a duplicate", made);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
        comms.emplace_back("all, backwards", made);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made);
        comms.emplace_back("half of them", made);
        const int dimensions[] = {size}, periods[] = {1};
        MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &made);
        comms.emplace_back("a ring", made);
        MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, rank, &made);
        if (made != MPI_COMM_NULL) comms.emplace_back("all but the last", made);

        const known_types types;
        const std::size_t derived = types.all.size() - 7; // these and what follows have four ints
        for (std::size_t c = 0; c != comms.size(); ++c) {
            setting s{comms[c].second, comms[c].first, 0, 1, seed, by_host};
            MPI_Comm_rank(s.comm, &s.rank);
            MPI_Comm_size(s.comm, &s.size);
            // A rank alone is served by the MPI itself, and Open MPI's MPI_Ialltoall fails in place.
            made_as = s.size == 1                                  ? form::blocking
                      : std::getenv("TEST_PERSISTENT") != nullptr  ? form::persistent
                      : std::getenv("TEST_NONBLOCKING") != nullptr ? form::nonblocking
                                                                   : form::blocking;
            MPI_Barrier(s.comm); // nonblocking calls are taken after a blocking one
            corners(s, s.size - 1);
            for (std::size_t t = 0; t != types.all.size(); ++t) {
                const kind& k = types.all[t];
                if (by_host && t >= derived) continue;
                std::vector<std::size_t> counts{0, 1, 17};
                if (t % 5 == c % 5 || all) counts.push_back(3000);
                if (all && (t < 2 || t >= derived)) counts.push_back(70'000);
                for (const std::size_t n : counts) {
                    if (!all && (t * 5 + n + c + seed) % (t < derived ? 6 : 2) != 0) continue;
                    s.seed = seed * 131 + static_cast<unsigned>(t + n);
                    const int root = static_cast<int>((t + n) % static_cast<std::size_t>(s.size));
                    reductions(s, k, n, root);
                    const kind& other = t >= derived ? types.all[derived + (t + 1 + n) % 7] : k;
                    if (n <= 3000) movements(s, k, other, n, root);
                }
            }
        }
        for (auto& [name, comm] : comms)
            if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
        int together = 0;
        MPI_Allreduce(&faults, &together, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) std::printf("%d ranks: %d calls of rank 0 compared, %d faults\n", size, calls, together);
        faults = together;
    }
    MPI_Finalize();
    return faults == 0 ? 0 : 1;
}
