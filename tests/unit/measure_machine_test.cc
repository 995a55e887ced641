#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "lib/measure/machine.h"

namespace prep::measure::measure_machine_test {
namespace {

constexpr const char* kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "23 22 0:21 / /data rw - nfs4 server:/export rw\n"
    "24 23 0:22 / /data/fast\\040disk rw shared:7 master:2 - xfs /dev/nvme0n1p2 rw\n"
    "25 22 0:23 / /data rw - tmpfs tmpfs rw\n";

TEST_CASE("a path lies on the mount point nearest above it") {
  CHECK(find_mount(kMounts, "/home/x").file_system == "ext4");
  CHECK(find_mount(kMounts, "/data/fast disk/x").source == "/dev/nvme0n1p2");
  CHECK(find_mount(kMounts, "/data/fast disk").point == "/data/fast disk");
  CHECK(find_mount(kMounts, "/database/x").point == "/");
}

TEST_CASE("of several mounts on one point the last is seen") {
  CHECK(find_mount(kMounts, "/data/x").file_system == "tmpfs");
}

TEST_CASE("nonsense is no mount") {
  CHECK(find_mount("", "/x").file_system.empty());
  CHECK(find_mount("1 2\n\nabc - \n", "/x").file_system.empty());
}

TEST_CASE("kinds of storage that file systems tell") {
  CHECK(kind_of_file_system("tmpfs") == "ram");
  CHECK(kind_of_file_system("nfs4") == "network");
  CHECK(kind_of_file_system("fuse.s3fs") == "network");
  CHECK(kind_of_file_system("ext4").empty());
}

TEST_CASE("this machine has CPUs and memory, and a disk below its root") {
  const auto machine = describe_machine();
  CHECK(machine["cpu"]["usable"].get<int>() >= 1);
  CHECK(machine["cpu"]["cpus"].get<int>() >= machine["cpu"]["usable"].get<int>());
  CHECK(machine["memory_bytes"].get<std::uint64_t>() > 1'000'000);
  CHECK(machine["kernel"].get<std::string>().starts_with("Linux "));
  CHECK(machine["libc"].get<std::string>().starts_with("glibc "));
  CHECK_FALSE(describe_storage("/")["file_system"].get<std::string>().empty());
  CHECK(describe_storage("/proc/self")["file_system"] == "proc");
}

TEST_CASE("a path that is not there is described by nothing") {
  const auto storage = describe_storage("/no/such/path");
  CHECK(storage["path"] == "/no/such/path");
  CHECK(storage["kind"] == "");
  CHECK(storage["file_system"] == "");
}

}  // namespace
}  // namespace prep::measure::measure_machine_test
