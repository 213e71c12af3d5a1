/**
 * NVIDIA's sample of OpenCL with another API's memory and semaphores by their fds, line by line, on PoCL by a simulated
 * driver. The other API is a context of its own here; the same with a C program that uses Vulkan, on a GPU, is
 * tests/vulkan/foreign_gpu_test.ts.
 */
import { blocking, driver, someFd, UUID } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { assertEquals } from "@std/assert";
import { Semaphore } from "@samepage/interop";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { open } from "./help.ts";

const [WIDTH, HEIGHT, LAPS] = [64, 32, 20];
const SIZE = WIDTH * HEIGHT * 4;
const RGBA = { order: "RGBA", type: "UNORM_INT8" } as const;
const ADD = `
  kernel void add(read_only image2d_t image, global uint* words) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    words[at.y * get_global_size(0) + at.x] += convert_uint(255 * read_imagef(image, at).x + 0.5f);
  }`;

simulated("NVIDIA's sample: memory and semaphores by their fds, and a loop of wait, kernel, signal", async (cl) => {
  driver.exportsSemaphores = true;
  await using theirs = open("pocl");
  driver.exportsSemaphores = false;
  // getFdForExternalSemaphore(), and getFdForExternalMemory() for a buffer and for an image
  const semaphores = [Semaphore.create(theirs), Semaphore.create(theirs)];
  const [readyFd, freeFd] = semaphores.map((semaphore) => semaphore.exportFd());
  const [bufferFd, imageFd] = [someFd(), someFd()];
  for (const fd of [bufferFd, imageFd]) libc().ftruncate(fd, BigInt(SIZE));

  // clCreateSemaphoreWithPropertiesKHR(context, { CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, fd, 0 }, &errcode_ret)
  await using ready = cl.importSemaphore(readyFd);
  await using free = cl.importSemaphore(freeFd);
  // clCreateBufferWithProperties(clContext, { CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, fd, 0 }, 0, size, NULL, …)
  await using words = cl.importMemory(bufferFd, { shape: [WIDTH * HEIGHT], dtype: "u32", size: SIZE, uuid: UUID });
  // clCreateImageWithProperties(clContext, { CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, fd, 0 }, 0, &clImgFormat, …)
  await using image = cl.image(RGBA).importMemory(imageFd, { shape: [HEIGHT, WIDTH, 4], size: SIZE });

  // The other side, which samepage knows nothing of.
  await using theirReady = theirs.importSemaphore(readyFd);
  await using theirFree = theirs.importSemaphore(freeFd);
  await using theirWords = theirs.importMemory(bufferFd, { shape: [WIDTH * HEIGHT], dtype: "u32", size: SIZE });
  await using theirImage = theirs.image(RGBA).importMemory(imageFd, { shape: [HEIGHT, WIDTH, 4], size: SIZE });
  for (const fd of [readyFd, freeFd, bufferFd, imageFd]) closeFd(fd);
  for (const semaphore of semaphores) semaphore[Symbol.dispose]();

  await using program = cl.program(ADD);
  await using add = program.kernel("add");
  await using sums = cl.allocate({ shape: [LAPS, WIDTH * HEIGHT], dtype: "u32" });
  blocking.length = 0;
  const rows = Array.from({ length: LAPS }, (_, lap) => {
    return sums.slice({ shape: [WIDTH * HEIGHT], dtype: "u32", byteOffset: lap * SIZE });
  });
  for (const [lap, row] of rows.entries()) {
    // (not shown) Signal the semaphore from the other API
    if (lap > 0) theirFree.wait();
    theirs.queue.fill(theirWords, 1000 * lap);
    theirs.queue.fill(theirImage, [lap / 255, 0, 0, 1]);
    theirReady.signal();
    // clEnqueueWaitSemaphoresKHR(command_queue, 1, &clSema, NULL, 0, NULL, NULL)
    ready.wait();
    // clEnqueueNDRangeKernel(command_queue, …)
    add.run({ items: [WIDTH, HEIGHT] }, [image, words]);
    cl.queue.copy(words, row);
    // clEnqueueSignalSemaphoresKHR(command_queue, 1, &clSema, NULL, 0, NULL, NULL)
    free.signal();
    // (not shown) Launch work in the other API that waits on 'clSema'
  }
  assertEquals(blocking, []);
  for (const row of rows) await row[Symbol.asyncDispose]();
  const seen = new Uint32Array(LAPS * WIDTH * HEIGHT);
  cl.queue.read(sums, seen);
  assertEquals(seen, Uint32Array.from(seen, (_, i) => 1001 * Math.floor(i / (WIDTH * HEIGHT))));
  theirFree.wait();
  theirs.queue.finish();
});
