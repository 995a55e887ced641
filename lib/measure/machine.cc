#include "lib/measure/machine.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "lib/core/jobs.h"
#include "lib/core/text.h"

namespace prep::measure {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kCpu0 = "/sys/devices/system/cpu/cpu0";

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

// The first line of a file of /sys or /proc; "" if there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return json_text(trimmed(line));
}

std::uint64_t number_in(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

// What follows "KEY   :" or "KEY=" on the first line that starts with it.
std::string field_of(const std::string& path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find(separator);
    if (end == std::string::npos || trimmed(line.substr(0, end)) != key) continue;
    std::string value = trimmed(line.substr(end + 1));
    std::erase(value, '"');
    return json_text(value);
  }
  return "";
}

std::string cpu_model() {
  for (const char* key : {"model name", "Model", "Hardware", "cpu"}) {
    std::string model = field_of("/proc/cpuinfo", key, ':');
    if (!model.empty()) return model;
  }
  return "";
}

// "32K", "1024K", "32M".
std::uint64_t cache_bytes(const std::string& size) {
  const std::uint64_t number = number_in(size);
  if (size.ends_with('K')) return number << 10;
  return size.ends_with('M') ? number << 20 : number;
}

Json caches() {
  Json caches = Json::array();
  for (int i = 0; i < 16; ++i) {
    const std::string folder = std::string(kCpu0) + "/cache/index" + std::to_string(i);
    const std::string level = first_line(folder + "/level");
    if (level.empty()) break;
    caches.push_back({{"level", number_in(level)},
                      {"type", first_line(folder + "/type")},
                      {"bytes", cache_bytes(first_line(folder + "/size"))}});
  }
  return caches;
}

Json cpu() {
  const std::string frequency = std::string(kCpu0) + "/cpufreq/";
  return {{"model", cpu_model()},
          {"cpus", std::max(0L, sysconf(_SC_NPROCESSORS_ONLN))},
          {"usable", available_cpus()},
          {"governor", first_line(frequency + "scaling_governor")},
          {"min_mhz", number_in(first_line(frequency + "cpuinfo_min_freq")) / 1000},
          {"max_mhz", number_in(first_line(frequency + "cpuinfo_max_freq")) / 1000},
          {"caches", caches()}};
}

// Spaces and the like stand as octal numbers in mountinfo: "\040".
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t k) {
      return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7';
    };
    if (text[i] == '\\' && digit(1) && digit(2) && digit(3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool is_below(std::string_view path, std::string_view point) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : "";
}

// The folder in /sys of the disk that a block device is, is a partition of, or is made of.
fs::path disk_folder(const std::string& device) {
  struct stat st {};
  if (stat(device.c_str(), &st) != 0 || !S_ISBLK(st.st_mode)) return {};
  std::error_code error;
  fs::path folder = fs::canonical("/sys/dev/block/" + std::to_string(major(st.st_rdev)) + ":" +
                                      std::to_string(minor(st.st_rdev)),
                                  error);
  // A volume of LVM, RAID or dm-crypt: the first of its disks speaks for all.
  for (int depth = 0; depth < 8 && !error; ++depth) {
    const fs::directory_iterator below(folder / "slaves", error);
    if (error || below == fs::directory_iterator()) break;
    folder = fs::canonical(below->path(), error);
  }
  if (fs::exists(folder / "partition", error)) folder = folder.parent_path();
  return folder;
}

std::string kind_of_disk(const fs::path& disk) {
  const std::string name = disk.filename();
  if (name.starts_with("nvme")) return "nvme";
  if (name.starts_with("vd") || name.starts_with("xvd")) return "virtual";
  if (name.starts_with("ram") || name.starts_with("zram")) return "ram";
  const std::string rotational = first_line(disk / "queue/rotational");
  if (rotational.empty()) return "";
  return rotational == "0" ? "ssd" : "hdd";
}

std::string whole_file(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

Json describe_machine() {
  struct utsname system {};
  uname(&system);
  struct sysinfo info {};
  const bool known = sysinfo(&info) == 0;
  std::array<double, 1> load{};
  getloadavg(load.data(), 1);
  return {{"cpu", cpu()},
          {"memory_bytes", known ? std::uint64_t{info.totalram} * info.mem_unit : 0},
          {"system", field_of("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", json_text(std::string(system.sysname) + " " + system.release)},
          {"libc", std::string("glibc ") + gnu_get_libc_version()},
          {"load", load[0]}};
}

Mount find_mount(const std::string& mountinfo, const std::string& path) {
  Mount found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string skipped, point;
    fields >> skipped >> skipped >> skipped >> skipped >> point;
    Mount mount;
    mount.point = unescaped(point);
    // Optional fields, then a dash.
    while (fields >> skipped && skipped != "-") {
    }
    fields >> mount.file_system >> mount.source;
    if (!fields || !is_below(path, mount.point)) continue;
    mount.source = unescaped(mount.source);
    if (mount.point.size() >= found.point.size()) found = std::move(mount);
  }
  return found;
}

std::string kind_of_file_system(const std::string& file_system) {
  constexpr std::array<std::string_view, 2> kMemory{"tmpfs", "ramfs"};
  constexpr std::array<std::string_view, 18> kNetwork{
      "nfs",       "nfs4", "cifs",  "smb3",     "smbfs",      "ceph",
      "lustre",    "gpfs", "afs",   "beegfs",   "orangefs",   "pvfs2",
      "glusterfs", "9p",   "ocfs2", "virtiofs", "fuse.sshfs", "fuse.glusterfs"};
  constexpr std::array<std::string_view, 7> kObjects{
      "fuse.s3fs",          "fuse.goofys", "fuse.gcsfuse", "fuse.mount-s3",
      "fuse.mountpoint-s3", "fuse.rclone", "fuse.juicefs"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), file_system) != names.end();
  };
  if (is_one_of(kMemory)) return "ram";
  return is_one_of(kNetwork) || is_one_of(kObjects) ? "network" : "";
}

std::string machine_sentence(const Json& machine) {
  const Json& cpu = machine["cpu"];
  const std::string model = cpu["model"].get<std::string>();
  const std::string governor = cpu["governor"].get<std::string>();
  return fmt::format("{}, {} of {} CPUs usable{}, {}, load {:.1f}",
                     model.empty() ? "a CPU of unknown model" : model, cpu["usable"].get<int>(),
                     cpu["cpus"].get<int>(), governor.empty() ? "" : ", governor " + governor,
                     machine["kernel"].get<std::string>(), machine["load"].get<double>());
}

Json describe_storage(const std::string& path) {
  const std::string real = real_path(path);
  const Mount mount = real.empty() ? Mount() : find_mount(whole_file("/proc/self/mountinfo"), real);
  std::string kind = kind_of_file_system(mount.file_system), model;
  if (kind.empty() && !mount.source.empty()) {
    const fs::path disk = disk_folder(mount.source);
    if (!disk.empty()) {
      kind = kind_of_disk(disk);
      model = first_line(disk / "device/model");
    }
  }
  return {{"path", json_text(path)},
          {"mount", json_text(mount.point)},
          {"file_system", json_text(mount.file_system)},
          {"device", json_text(mount.source)},
          {"kind", kind},
          {"model", model}};
}

}  // namespace prep::measure
