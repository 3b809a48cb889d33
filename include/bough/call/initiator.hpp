// SPDX-License-Identifier: BSL-1.0
// Initiator: the object on which a front door runs to start or bind an operation, instead of
// running it to its end.
//
//   return detail::start_collective<operation, detail::allreduce_forms>(comm, data, op, choice);
// With persistent_operation in place of operation it binds.
//
// The forms of a collective run on it: allreduce_forms::call(on, data, op, choice). It has those
// members of a communicator that front doors use (bough/call/runs_calls.hpp). So no collective is
// written twice.
#ifndef BOUGH_CALL_INITIATOR_HPP
#define BOUGH_CALL_INITIATOR_HPP

#include <bough/call/forms.hpp>
#include <bough/call/named.hpp>
#include <bough/communicator.hpp>
#include <bough/communicator/operation_state.hpp>
#include <bough/core/config.hpp>
#include <bough/op/combine.hpp>
#include <bough/operation.hpp>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class initiator {
public:
    explicit initiator(operation_state<T>& frame) noexcept : frame_(frame), core_(frame.core()) {}

    rank_t rank() const noexcept { return core_.rank(); }
    rank_t size() const noexcept { return core_.size(); }
    T& transport() noexcept { return core_.shared_session()->transport(); }
    const communicator_options& options() const noexcept { return core_.options; }
    template <class P, class F>
    const P* remember_plan(const choice_key& key, F&& choose) {
        return core_.template remember_plan<P>(key, std::forward<F>(choose));
    }

    // A bound call is chosen at its binding, which is no call; and ranks make named ones in different
    // orders.
    bool follows(std::uint64_t bytes) const noexcept {
        return !frame_.is_persistent() && !frame_.has_name() && core_.follows(bytes);
    }
    auto& followed() { return core_.followed(); }
    template <class P>
    const P* find_bound(const P& plan) const {
        return core_.plans.find_plan(plan);
    }
    template <class O>
    const O& hold(const O& op) {
        if constexpr (std::is_function_v<O> || is_stateless_v<O>) {
            return op; // it has no state, or always exists
        } else {
            static_assert(std::is_copy_constructible_v<O>,
                          "bough: an operation that is started keeps a copy of its op: the op must be copyable");
            return frame_.kept().template make<O>(op);
        }
    }
    template <class E>
    auto& room() {
        if constexpr (std::is_same_v<E, std::byte>)
            return frame_.kept().template make<kept_bytes>(frame_.kept());
        else
            return frame_.kept().template make<std::vector<E, kept_allocator<E>>>(kept_allocator<E>(frame_.kept()));
    }
    template <class F>
    status before(const F& make_ready) {
        if (!frame_.is_persistent()) return make_ready();
        frame_.add_before(make_ready);
        return {};
    }
    template <class F>
    requires(std::is_same_v<std::invoke_result_t<const F&>, status>) status
        then(const status& s, const F& make_result) {
        return add_then(s, [make_result, core = &core_]() -> status {
            const status bad = make_result();
            return bad ? core->result_differs(bad) : bad;
        });
    }
    template <class F>
    status then(const status& s, const F& make_result) {
        return add_then(s, make_result);
    }
    status refuse(const status& why) {
        if (frame_.is_persistent()) {
            frame_.refuse_always(why);
            return why;
        }
        const status said = frame_.refuse(why);
        frame_.end(said);
        return said;
    }
    template <Plan P>
    status run(const P& plan, const call& c, call_signature signature) {
        signature.kind = decltype(plan.goal())::kind;
        frame_.bind(plan, c, signature);
        if (!frame_.is_persistent()) return frame_.launch();
        frame_.make_ready();
        return {};
    }

private:
    template <class F>
    status add_then(const status& s, const F& make_result) {
        if (s) return s;
#if BOUGH_HAS_EXCEPTIONS
        try {
            frame_.add_after(make_result);
        } catch (...) { // no memory, but the operation may have started
            return frame_.is_persistent() ? refuse({.code = errc::no_resources}) : frame_.abandon();
        }
#else
        frame_.add_after(make_result);
#endif
        return {};
    }
    operation_state<T>& frame_;
    communicator_core<T>& core_;
};

// An exception before the call has its number is an error of a call that has not started. Binding
// is not a call: if there is no memory for it, each start is a call that is refused.
template <class Handle, class T>
Handle start_by(communicator<T>& comm, void* front_door, void (*run)(void*, initiator<T>&), const named& name) {
    constexpr bool persistent = std::is_same_v<Handle, persistent_operation>;
#if BOUGH_HAS_EXCEPTIONS
    operation_state<T>* made = nullptr;
    try {
        made = operation_state<T>::make(comm.core(), persistent);
    } catch (...) {
        if constexpr (persistent)
            return Handle(comm.core()->unbound.acquire(comm.core()));
        else if (name.name.data() != nullptr)
            return Handle(comm.core()->refuse_named({.code = errc::no_resources}));
        else
            return Handle(comm.refuse({.code = errc::no_resources}));
    }
    Handle handle(made);
    initiator<T> on(*made);
    try {
        if (name.name.data() != nullptr) made->set_name(name.name);
        run(front_door, on);
    } catch (...) {
        (void)on.refuse({.code = errc::no_resources});
    }
#else
    operation_state<T>* made = operation_state<T>::make(comm.core(), persistent);
    Handle handle(made);
    initiator<T> on(*made);
    if (name.name.data() != nullptr) made->set_name(name.name);
    run(front_door, on);
#endif
    return handle;
}
template <class Handle, class T, class F>
Handle start_as(communicator<T>& comm, F&& front_door, const named& name = {}) {
    using door = std::remove_reference_t<F>;
    void* const its = const_cast<std::remove_const_t<door>*>(__builtin_addressof(front_door));
    return detail::start_by<Handle, T>(
        comm, its, [](void* to, initiator<T>& on) { (void)(*static_cast<door*>(to))(on); }, name);
}

template <class Forms, class X, class... A>
operation start(communicator<X>& comm, A&&... arguments) {
    return start_as<operation>(
        comm, [&](initiator<X>& on) { return detail::run_form<Forms>(on, std::forward<A>(arguments)...); });
}

// A front door that starts an operation (Handle: operation) or binds one (persistent_operation).
template <class Handle, class Forms, class C, class... A>
Handle start_named(C& comm, const named& name, A&&... arguments) {
    if constexpr (explain_called_on<C>()) {
        using on_type = initiator<std::remove_cvref_t<decltype(comm.transport())>>;
        if constexpr (explain_call<Forms, on_type, A...>() && explain_lasting<A...>())
            return detail::start_as<Handle>(
                comm, [&](on_type& on) { return detail::run_form<Forms>(on, std::forward<A>(arguments)...); }, name);
    }
}
template <class Handle, class Forms, class C, class... A>
Handle start_collective(C& comm, A&&... arguments) {
    if constexpr (explain_named<A...>() && ends_named_v<A...>) {
        const named name = detail::name_in(detail::last_of(arguments...));
        return detail::without_last(
            [&]<class... B>(B&&... rest) {
                return detail::start_named<Handle, Forms>(comm, name, std::forward<B>(rest)...);
            },
            std::forward<A>(arguments)...);
    } else {
        return detail::start_named<Handle, Forms>(comm, named{}, std::forward<A>(arguments)...);
    }
}

} // namespace bough::detail

#endif
