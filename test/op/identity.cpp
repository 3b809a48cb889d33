// SPDX-License-Identifier: BSL-1.0
// Identities: whatever the linker tells apart has two, of hundreds of types; names that are given are kept.
// Compiled alone: names are hashed with their namespaces.
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/builtin_op.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/names.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace users {
struct named_op {};
struct named_type {
    int x;
};
template <int N>
struct record {
    int x;
};
template <class A, int N>
struct pair_of {};
} // namespace users

template <>
inline constexpr std::uint64_t bough::op_id<users::named_op> = bough::hash_name("blend, version 2");
template <>
inline constexpr bough::type_signature bough::type_id<users::named_type> = {4, bough::type_category::other,
                                                                            bough::hash_name("price")};

namespace {

using bough::op_identity;
using bough::type_identity;

struct hidden {};

// Two of one name, and two lambdas with the same parameters.
struct locals {
    std::vector<std::uint64_t> types, ops;
    template <class T, class O>
    void add(const T&, const O&) {
        types.push_back(type_identity<T>());
        ops.push_back(op_identity<O>());
    }
};
locals first_function() {
    locals all;
    {
        struct local {
            int x;
        };
        all.add(local{}, [](int a, int b) { return a + b; });
    }
    {
        struct local {
            int x;
        };
        all.add(local{}, [](int a, int b) { return a > b ? a : b; });
    }
    struct {
        int x;
    } unnamed{};
    all.add(unnamed, [](auto a, auto b) { return a + b; });
    return all;
}
locals second_function() {
    locals all;
    struct local {
        int x;
    };
    all.add(local{}, [](int a, int b) { return a - b; });
    return all;
}
[[maybe_unused]] const auto of_a_variable = [](int a, int b) { return a + b; };
[[maybe_unused]] const auto of_another = [](int a, int b) { return a + b; };

template <int First, int... N>
void add_records(std::vector<std::uint64_t>& ids, std::integer_sequence<int, N...>) {
    (ids.push_back(type_identity<users::record<First + N>>()), ...);
    (ids.push_back(op_identity<users::pair_of<users::record<First + N>, 1>>()), ...);
    (ids.push_back(op_identity<users::pair_of<int, First + N>>()), ...);
}
bool are_distinct(std::vector<std::uint64_t> ids) {
    std::sort(ids.begin(), ids.end());
    return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

} // namespace

TEST_CASE("identity: hundreds of generated types and ops differ pairwise, also in the low bits of most", "[op]") {
    std::vector<std::uint64_t> ids;
    add_records<0>(ids, std::make_integer_sequence<int, 256>{});
    CHECK(ids.size() == 768);
    CHECK(are_distinct(ids));
    for (std::uint64_t& id : ids) id &= 0xffff; // what a message has by itself
    std::sort(ids.begin(), ids.end());
    CHECK(std::unique(ids.begin(), ids.end()) - ids.begin() > 740); // of 65536; 763.5 are expected
}

TEST_CASE("identity: arithmetic types differ by kind and size only", "[op]") {
    CHECK(are_distinct({type_identity<signed char>(), type_identity<short>(), type_identity<int>(),
                        type_identity<long long>(), type_identity<unsigned char>(), type_identity<unsigned short>(),
                        type_identity<unsigned>(), type_identity<unsigned long long>(), type_identity<float>(),
                        type_identity<double>(), type_identity<long double>(), type_identity<std::complex<float>>(),
                        type_identity<std::complex<double>>(), type_identity<hidden>()}));
    if constexpr (sizeof(long) == 8) CHECK(type_identity<long>() == type_identity<long long>());
}

TEST_CASE("identity: names that are given are what counts", "[op]") {
    CHECK(op_identity<bough::plus>() == bough::op_id<bough::plus>);
    CHECK(op_identity<users::named_op>() == bough::hash_name("blend, version 2"));
    CHECK(type_identity<users::named_type>() == bough::identity_of(bough::type_id<users::named_type>));
    CHECK(op_identity<void>() == bough::op_id<void>);
    CHECK(op_identity<hidden>() == op_identity<hidden>());
}

#if defined(__cpp_rtti)
TEST_CASE("identity: local classes of one name and lambdas with the same parameters differ", "[op]") {
    const locals a = first_function(), b = second_function(), again = first_function();
    CHECK((a.types == again.types && a.ops == again.ops)); // the same lambda is the same op
    std::vector<std::uint64_t> types = a.types, ops = a.ops;
    types.insert(types.end(), b.types.begin(), b.types.end());
    ops.insert(ops.end(), b.ops.begin(), b.ops.end());
    ops.push_back(op_identity<decltype(of_a_variable)>());
    ops.push_back(op_identity<decltype(of_another)>());
    CHECK(are_distinct(types));
    CHECK(are_distinct(ops));
}
#endif

TEST_CASE("identity: of a function pointer it is that of its type, whatever it points to", "[op]") {
    using pointer = int (*)(int, int);
    CHECK(op_identity<pointer>() != op_identity<long (*)(long, long)>());
}

TEST_CASE("names: of arithmetic types and shipped ops", "[op]") {
    const auto type = [](std::uint64_t id) {
        const char* name = bough::name_of_type(id);
        return std::string(name == nullptr ? "" : name);
    };
    CHECK(type(type_identity<double>()) == "double");
    CHECK(type(type_identity<float>()) == "float");
    CHECK(type(type_identity<std::int32_t>()) == "int32");
    CHECK(type(type_identity<std::uint64_t>()) == "uint64");
    CHECK(type(type_identity<hidden>()).empty());
    CHECK(std::string(bough::name_of_op(op_identity<bough::plus>())) == "plus");
    CHECK(std::string(bough::name_of_op(op_identity<bough::max_number>())) == "max_number");
    CHECK(bough::name_of_op(op_identity<hidden>()) == nullptr);
}
