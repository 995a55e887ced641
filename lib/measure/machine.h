// Where something was measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace prep::measure {

// {"cpu": {"model", "cpus", "usable", "governor", "min_mhz", "max_mhz", "caches": [{"level",
// "type", "bytes"}]}, "memory_bytes", "system", "kernel", "libc", "load": the average over a
// minute}; "" or 0 where the system does not tell.
nlohmann::ordered_json describe_machine();
// The same in a few words: "AMD EPYC 7B13, 2 of 2 CPUs usable, Linux 6.1.0, load 0.5".
std::string machine_sentence(const nlohmann::ordered_json& machine);

// What lies below a path: {"path", "mount", "file_system", "device", "kind", "model"}. `kind` is
// "nvme", "ssd", "hdd", "virtual" (a disk that a hypervisor makes up: what is behind it is not
// told), "ram", "network", or "". Never throws for a path that cannot be looked at.
nlohmann::ordered_json describe_storage(const std::string& path);

// The same of an entry of /proc/self/mountinfo (proc(5)); for tests.
struct Mount {
  std::string point, file_system, source;
};
// The mount that `path` (absolute, without links) lies on, out of the text of such a file: of those
// whose mount point is above it the one nearest to it, the last of several there.
Mount find_mount(const std::string& mountinfo, const std::string& path);
// The kind by what the mount is called; "" where the device decides.
std::string kind_of_file_system(const std::string& file_system);

}  // namespace prep::measure
