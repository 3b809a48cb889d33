// SPDX-License-Identifier: BSL-1.0
// Every collective with a completion token, and what they run on.
#ifndef BOUGH_ASIO_ASYNC_HPP
#define BOUGH_ASIO_ASYNC_HPP

#include <bough/asio/async_allgather.hpp>
#include <bough/asio/async_allreduce.hpp>
#include <bough/asio/async_alltoall.hpp>
#include <bough/asio/async_barrier.hpp>
#include <bough/asio/async_broadcast.hpp>
#include <bough/asio/async_exscan.hpp>
#include <bough/asio/async_gather.hpp>
#include <bough/asio/async_multicast.hpp>
#include <bough/asio/async_multicasts.hpp>
#include <bough/asio/async_reduce.hpp>
#include <bough/asio/async_reduce_scatter.hpp>
#include <bough/asio/async_scan.hpp>
#include <bough/asio/async_scatter.hpp>
#include <bough/asio/async_wait.hpp>
#include <bough/asio/on_executor.hpp>

#endif
