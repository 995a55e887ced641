"""Times prep-resize and its peers, whole programs from folder to folder, to short side 256."""
import harness

SHORT = 256
QUALITY = 90
OURS = "prep-resize -j1"
OURS_TWO = "prep-resize -j2"


def peer_command(script, *options):
    return harness.peer_command(script, SHORT, QUALITY, *options)


def our_programs(build):
    path = harness.tool(build, "prep-resize")
    version = harness.version_of(path)
    cores = harness.cores()
    # The peers do not convert profiles either. The input goes first, the output follows -o.
    command = [path, "{input}", "-o", "{output}", "--short", str(SHORT), "-q", str(QUALITY),
               "--icc", "ignore"]
    yield harness.Program(OURS, version, [*command, "-j", "1"], cores[-1:])
    if len(cores) >= 2:
        yield harness.Program(OURS_TWO, version, [*command, "-j", "2"], cores[-2:])


def peers():
    yield harness.python_peer("Pillow", "PIL", "python3-pil", peer_command("pillow_resize.py"))
    yield harness.python_peer("Pillow, draft()", "PIL", "python3-pil",
                              peer_command("pillow_resize.py", "--draft"))
    yield harness.python_peer("OpenCV from Python", "cv2", "python3-opencv",
                              peer_command("opencv_resize.py"))
    yield harness.command_peer("vipsthumbnail", "vipsthumbnail", "libvips-tools",
                               peer_command("vipsthumbnail_resize.sh"))
    yield harness.command_peer("mogrify", "mogrify", "imagemagick",
                               peer_command("mogrify_resize.sh"))


def main():
    arguments = harness.speed_arguments("resize", __doc__)
    harness.compare_speed(arguments, [*our_programs(arguments.build), *peers()], [OURS],
                          (OURS, OURS_TWO), SHORT)


if __name__ == "__main__":
    main()
