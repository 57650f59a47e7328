#include "tun.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

namespace gym::wan {
namespace {

constexpr const char* kName = "wan0";
constexpr std::size_t kIpHeaderBytes = 20, kDestinationAt = 16;

Error refused(const std::string& what) {
    const int number = errno;
    const ErrorCode code = number == EPERM || number == EACCES ? ErrorCode::kPermissionDenied
                           : number == ENOENT                  ? ErrorCode::kNotFound
                                                               : ErrorCode::kIo;
    return fail(code, what + ": " + std::strerror(number));
}

sockaddr socket_address(std::uint32_t address) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(address);
    sockaddr out{};
    std::memcpy(&out, &in, sizeof in);
    return out;
}

/// In another network namespace, for as long as this lives.
class Inside {
  public:
    static Result<Inside> enter(const std::string& netns) {
        Descriptor own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
        if (own.get() < 0) return refused("this network namespace");
        const Descriptor other(::open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC));
        if (other.get() < 0) return refused("network namespace " + netns);
        if (::setns(other.get(), CLONE_NEWNET) != 0)
            return refused("entering network namespace " + netns);
        return Inside(std::move(own));
    }
    Inside(Inside&&) noexcept = default;
    Inside& operator=(Inside&&) = delete;
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
        if (own_.get() >= 0) (void)::setns(own_.get(), CLONE_NEWNET);
    }

  private:
    explicit Inside(Descriptor own) : own_(std::move(own)) {}
    Descriptor own_;
};

ifreq named(const char* name) {
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    return request;
}

Status put_up(int socket, const char* name) {
    ifreq request = named(name);
    if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) return refused(name);
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0)
        return refused(std::string("starting ") + name);
    return {};
}

Status configure(std::uint32_t address) {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return refused("a socket");
    ifreq request = named(kName);
    request.ifr_addr = socket_address(address);
    if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0) return refused("the address");
    request = named(kName);
    request.ifr_netmask = socket_address(0xFFFFFFFF);
    if (::ioctl(socket.get(), SIOCSIFNETMASK, &request) != 0) return refused("the mask");
    request = named(kName);
    request.ifr_mtu = static_cast<int>(kMtu);
    if (::ioctl(socket.get(), SIOCSIFMTU, &request) != 0) return refused("the MTU");
    GYM_CHECK(put_up(socket.get(), "lo"));
    GYM_CHECK(put_up(socket.get(), kName));
    rtentry route{};
    route.rt_dst = route.rt_genmask = socket_address(0);
    route.rt_flags = RTF_UP;
    std::array<char, IFNAMSIZ> device{};
    std::strncpy(device.data(), kName, device.size() - 1);
    route.rt_dev = device.data();
    if (::ioctl(socket.get(), SIOCADDRT, &route) != 0) return refused("the default route");
    return {};
}

}  // namespace

Result<Tun> Tun::make(const std::string& netns, std::uint32_t address) {
    GYM_TRY(const Inside inside, Inside::enter(netns));
    Descriptor file(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0) return refused("/dev/net/tun");
    ifreq request = named(kName);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (::ioctl(file.get(), TUNSETIFF, &request) != 0)
        return refused("a TUN interface in namespace " + netns);
    const Status configured = configure(address);
    if (!configured.ok()) return configured.error().in("the interface of namespace " + netns);
    return Tun(std::move(file));
}

Result<Bytes> Tun::read() {
    Bytes packet(kMtu);
    const ssize_t size = ::read(file_.get(), packet.data(), packet.size());
    if (size < 0 && errno != EAGAIN && errno != EINTR) return refused("reading a packet");
    packet.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return packet;
}

bool Tun::write(const Bytes& packet) {
    return ::write(file_.get(), packet.data(), packet.size()) ==
           static_cast<ssize_t>(packet.size());
}

std::uint32_t destination_of(const Bytes& packet) {
    if (packet.size() < kIpHeaderBytes || packet[0] >> 4U != 4) return 0;
    std::uint32_t address = 0;
    for (std::size_t i = 0; i < 4; ++i)
        address = address << 8U | packet[kDestinationAt + i];
    return address;
}

}  // namespace gym::wan
