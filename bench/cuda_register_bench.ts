// Memory of the host as CUDA's: a frame whose pages are registered, mapped and unregistered, and one that stays so.

import { cudaHostRegisterMapped, cudaHostRegisterPortable } from "../ffi/cuda_runtime/constants.ts";
import { check } from "../src/cuda/errors.ts";
import { cudart } from "../src/cuda/library.ts";
import { cudaC } from "./harness/c.ts";
import { gpu } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { makeFrame } from "./harness/frame.ts";
import { atMost } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

figure({
  id: "cuda-register",
  title: "register a frame, map it and unregister it",
  on: "cuda",
  goal: atMost(1.1),
  ways: [
    cudaC("cuda_register", "register_unregister"),
    here("samepage", () => {
      const { cuda, graph } = gpu();
      const frame = makeFrame();
      return {
        run(count) {
          for (let i = 0; i < count; i++) graph.map(frame, cuda)[Symbol.dispose]();
        },
      };
    }),
    here("Deno, the calls alone", () => {
      gpu(); // makes the device's context current
      const frame = makeFrame();
      const { address, layout: { byteLength } } = frame;
      const [length, slot] = [BigInt(byteLength), new BigUint64Array(1)];
      const flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
      const { cudaHostRegister, cudaHostGetDevicePointer, cudaHostUnregister } = cudart();
      return {
        run(count) {
          frame.resource.assertLive(); // no other owner holds it
          for (let i = 0; i < count; i++) {
            check(cudaHostRegister(address, length, flags), "cudaHostRegister");
            check(cudaHostGetDevicePointer(slot, address, 0), "cudaHostGetDevicePointer");
            check(cudaHostUnregister(address), "cudaHostUnregister");
          }
        },
      };
    }),
  ],
});

figure({
  id: "cuda-kept",
  title: "map a frame that stays registered, and dispose it",
  on: "cuda",
  ways: [
    cudaC("cuda_register", "alias"),
    here("samepage", () => {
      const { cuda, graph } = gpu();
      const frame = makeFrame();
      const kept = cuda.register(frame);
      return {
        run(count) {
          kept.resource.assertLive(); // no other owner holds it
          for (let i = 0; i < count; i++) graph.map(frame, cuda)[Symbol.dispose]();
        },
      };
    }),
  ],
});
