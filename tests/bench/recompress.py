"""Times prep-recompress and its peers, whole programs from folder to folder, to quality 70."""
import harness

QUALITY = 70
OURS = "prep-recompress -j1"
OURS_KEEP = "prep-recompress -j1, keep, no optimize"
OURS_TWO = "prep-recompress -j2"


def peer_command(script, *options):
    return harness.peer_command(script, QUALITY, *options)


def our_programs(build):
    path = harness.tool(build, "prep-recompress")
    version = harness.version_of(path)
    cores = harness.cores()
    command = [path, "{input}", "-o", "{output}", "-q", str(QUALITY)]
    yield harness.Program(OURS, version, [*command, "-j", "1"], cores[-1:])
    yield harness.Program(OURS_KEEP, version,
                          [*command, "-j", "1", "--subsampling", "keep", "--no-optimize"],
                          cores[-1:])
    if len(cores) >= 2:
        yield harness.Program(OURS_TWO, version, [*command, "-j", "2"], cores[-2:])


def peers():
    yield harness.python_peer("Pillow, 4:2:0", "PIL", "python3-pil",
                              peer_command("pillow_recompress.py"))
    yield harness.python_peer("Pillow, source's subsampling", "PIL", "python3-pil",
                              peer_command("pillow_recompress.py", "--keep"))
    yield harness.command_peer("jpegoptim -m", "jpegoptim", "jpegoptim",
                               peer_command("jpegoptim_recompress.sh"))
    yield harness.command_peer("mogrify", "mogrify", "imagemagick",
                               peer_command("mogrify_recompress.sh"))
    yield harness.node_peer("sharp", "sharp", peer_command("sharp_recompress.js"))
    # Lossless: what reading and writing the coefficients costs, a process a file.
    yield harness.command_peer("jpegtran -optimize (lossless)", "jpegtran", "libjpeg-turbo-progs",
                               harness.peer_command("jpegtran_optimize.sh"), "-version")


def main():
    arguments = harness.speed_arguments("recompress", __doc__)
    harness.compare_speed(arguments, [*our_programs(arguments.build), *peers()],
                          [OURS, OURS_KEEP], (OURS, OURS_TWO))


if __name__ == "__main__":
    main()
