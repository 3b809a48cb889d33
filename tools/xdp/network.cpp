// SPDX-License-Identifier: BSL-1.0
// Making the namespaces, and by ip(8) a veth pair for each rank.
#include "network.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace xdp {

namespace {

int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

int new_space() {
    checked(unshare(CLONE_NEWNET), "a new network namespace");
    // No neighbour discovery: nothing but our frames is to be on the wire. A kernel without IPv6 has no such file.
    const descriptor off(open("/proc/sys/net/ipv6/conf/default/disable_ipv6", O_WRONLY | O_CLOEXEC));
    if (off.get() >= 0 && write(off.get(), "1", 1) != 1) std::perror("disable_ipv6");
    return checked(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "/proc/self/ns/net");
}

// The commands of `ip`, in this namespace.
void run_ip(const std::string& commands) {
    FILE* ip = popen("ip -batch -", "w");
    if (ip == nullptr) throw std::system_error(errno, std::generic_category(), "ip");
    std::fputs(commands.c_str(), ip);
    const int status = pclose(ip);
    if (status != 0) throw std::system_error(std::make_error_code(std::errc::not_supported), "ip (iproute2)");
}

void set_up(int interface) {
    const descriptor any(checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
    ifreq request{};
    request.ifr_ifindex = interface;
    checked(ioctl(any.get(), SIOCGIFNAME, &request), "SIOCGIFNAME");
    request.ifr_flags = IFF_UP;
    checked(ioctl(any.get(), SIOCSIFFLAGS, &request), "SIOCSIFFLAGS");
}

int packet_socket(int interface) {
    // Protocol 0: it sends, and hears nothing.
    const int fd = checked(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "a packet socket");
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = interface;
    checked(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
    const int yes = 1;
    checked(setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof yes), "PACKET_QDISC_BYPASS");
    return fd;
}

} // namespace

descriptor::~descriptor() {
    if (fd_ >= 0) close(fd_);
}

network::network(unsigned ranks) : switch_(new_space()) {
    for (unsigned r = 0; r != ranks; ++r) hosts_.push_back({descriptor(new_space()), {}});
    checked(setns(switch_.get(), CLONE_NEWNET), "setns");
    std::string commands = "link set lo up\n"; // for what is to be compared with
    const std::string one_queue = " numtxqueues 1 numrxqueues 1 ";
    for (unsigned r = 0; r != ranks; ++r)
        commands += "link add port" + std::to_string(r) + " index " + std::to_string(switch_interface(r)) + one_queue +
                    "type veth peer name nic index " + std::to_string(rank_interface(r)) + one_queue + "netns /proc/" +
                    std::to_string(getpid()) + "/fd/" + std::to_string(hosts_[r].space.get()) + "\n";
    run_ip(commands);
    for (unsigned r = 0; r != ranks; ++r) set_up(switch_interface(r));
    for (unsigned r = 0; r != ranks; ++r)
        in_rank(r, [&] {
            set_up(rank_interface(r));
            hosts_[r].socket = descriptor(packet_socket(rank_interface(r)));
        });
}

void network::in_rank(unsigned rank, const std::function<void()>& f) const {
    checked(setns(hosts_[rank].space.get(), CLONE_NEWNET), "setns");
    struct back {
        int fd;
        ~back() { (void)setns(fd, CLONE_NEWNET); }
    } leave{switch_.get()};
    f();
}

void network::send(unsigned rank, std::span<const std::byte> bytes) const {
    checked(static_cast<int>(::send(hosts_[rank].socket.get(), bytes.data(), bytes.size(), 0)), "send");
}

} // namespace xdp
