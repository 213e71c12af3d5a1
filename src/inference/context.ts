import { type Address, NULL } from "../../ffi/address.ts";
import { shown } from "../core/argument.ts";
import { Checks } from "../core/checks.ts";
import type { Memory, MemoryTarget, Offer } from "../core/contract.ts";
import { InteropError } from "../core/errors.ts";
import type { FileSource } from "../core/file_source.ts";
import type { Context } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import { type Layout, layout, type LayoutInit } from "../core/layout/layout.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, thenUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { mapBlock, PAGE } from "../core/native/blocks.ts";
import { probeObject } from "../core/native/foreign_addresses.ts";
import { adoptTensor, attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { allocateTensor } from "../core/tensors/over.ts";
import { samePointers } from "../core/tensors/pointer.ts";
import type { TensorInit } from "../core/tensors/tensor.ts";
import type { ElementKind, Elements } from "./elements.ts";
import type { ModelValue, Session } from "./session.ts";
import type { InferenceTensor, ValueInfo, Values } from "./tensor.ts";

/** A model that is being loaded. */
export interface Loading<S> {
  /** Loads it on this thread, and returns the runtime's code. */
  here(): bigint | number;
  /** Loads it on another thread, and returns the runtime's code. */
  elsewhere(): Promise<bigint | number>;
  /** Checks the code, and returns the session. @param undo releases the runtime's model; the session takes it over */
  session(code: bigint | number, undo: Undo): S;
}

/** A runtime that is open on a device. It is the only target of its memory, which is the CPU's. */
export abstract class InferenceContext<
  T extends InferenceTensor = InferenceTensor,
  S extends Session<T> = Session<T>,
  O extends object = object,
> extends DeviceContext implements MemoryTarget<T> {
  /** The kind of memory. */
  abstract readonly kind: string;
  /** The GPU context in which models run; undefined on the CPU. */
  readonly on: Context | undefined;
  /** Itself. */
  readonly context: this = this;
  /** Itself. */
  override readonly targets: readonly [this] = [this];
  /** Exports and imports host memory without gaps, in place. */
  abstract readonly ports: Memory<T, Address>;
  /** How the runtime makes its own objects over memory. For sessions. */
  abstract readonly values: Values;

  /** Takes over the undo list. @param on outlives this context */
  constructor(api: string, name: string, on: Context | undefined, undo: Undo) {
    super(api, { name, id: on?.id ?? {} }, undo);
    this.on = on;
    if (on?.resource !== undefined) this.resource.dependOn(on.resource);
  }

  /** True if its tensors are CPU memory, as the outputs that a run makes always are. For sessions. */
  get isHost(): boolean {
    return this.ports.exports.length > 0;
  }

  /** @internal Begins to load a model. `kept` lasts as long as the session, `undo` until the model is loaded. */
  protected abstract load(model: FileSource, name: string, options: O, kept: Undo, undo: Undo): Loading<S>;

  /** True for tensors of this context. */
  is(value: Mapped): value is T {
    return (value as Mapped | undefined | null)?.target === this;
  }

  /**
   * New zeroed memory, page-aligned, which the runtime and the host use in place.
   *
   * @throws {LayoutError} for an invalid layout, or one with gaps.
   * @throws {NativeCallError} if memory runs out.
   */
  allocate(init: LayoutInit): T {
    return allocateTensor<T>(this, init);
  }

  /**
   * A tensor over a runtime's object that other code made (an `ov_tensor_t`, an `OrtValue`), in place. Its shape and its
   * elements are queried. `options.owner` releases it.
   *
   * @param handle its address, which has to be right: samepage checks only that the memory there can be read
   * @throws {ArgumentError} for anything but an address, memory that is not the CPU's, or an object without elements.
   * @throws {InteropError} for elements that no tensor has: strings.
   * @throws {NativeCallError} for anything but a tensor.
   */
  attach(handle: bigint | Deno.PointerValue, options: AttachOptions = {}): T {
    const checks = new Checks(this.api);
    return attaching(options, (access) => {
      this.resource.assertLive();
      if (!this.isHost) throw checks.wrong("handle", NOT_HOST, ALLOCATE);
      const object = checks.handleIn<Address>(handle, "handle");
      probeObject(object, 8, this.api, "handle");
      const info = this.values.infoOf(object);
      const kind = this.values.elements.kindOf(info.type, "handle");
      if (info.shape.includes(0)) throw checks.wrong("handle", "it has no elements.");
      const at = layoutOf(info, kind);
      if (info.address === NULL) throw checks.wrong("handle", "it has no memory.");
      probeObject(info.address, at.byteLength, this.api, "handle"); // a device's memory cannot be read
      const owner = { handle: object, release() {} };
      const tensor = adoptTensor<T>(this, owner, this.#planeOf(info, at), { access });
      tensor.know(object, info.shape, kind.elements);
      return tensor;
    });
  }

  /**
   * Makes a tensor of an object that the runtime made, and takes it over; undefined if it has no elements. For sessions.
   */
  adopt(object: Address, { name, ...kind }: ModelValue): T | undefined {
    const { values } = this;
    const { undo, info } = allOrNothing("taking an output", (undo) => {
      owned(values.kind, undo, () => values.free(object));
      return { undo, info: values.infoOf(object) };
    });
    const release = () => undoAll(undo, "freeing an output");
    if (info.shape.includes(0)) return void release();
    const plane = this.#planeOf(info, layoutOf(info, kind));
    const tensor = adoptTensor<T>(this, { handle: object, isReference: true, release }, plane, {
      name: `${this.kind} output ${name}`,
    });
    tensor.know(object, info.shape, kind.elements);
    return tensor;
  }

  #planeOf({ address }: ValueInfo, at: Layout) {
    return { handle: address, layout: at, block: { kind: `${this.kind}.object`, byteLength: at.byteLength, address } };
  }

  /**
   * Reads and compiles a model on another thread, and returns a session of it.
   *
   * @param model a path, a `file:` URL, or the bytes of a model
   * @throws {ArgumentError} for a file that cannot be read, and for inputs and outputs that the runtime would copy.
   * @throws {PermissionError} if Deno does not permit reading it.
   * @throws {InteropError} for a model with inputs or outputs that are not tensors of samepage: strings, elements of 4
   * bits.
   * @throws {NativeCallError} for anything but a model, or one that this version does not run.
   */
  async compile(model: FileSource, options: O = {} as O): Promise<S> {
    const { elsewhere, end } = this.#begin(model, options);
    const letGo = this.resource.hold();
    try {
      return end(await elsewhere());
    } finally {
      letGo();
    }
  }

  /**
   * {@link compile} on the calling thread, which waits.
   *
   * @throws as {@link compile}.
   */
  compileSync(model: FileSource, options: O = {} as O): S {
    const { here, end } = this.#begin(model, options);
    return end(here());
  }

  #begin(model: FileSource, options: O): Pick<Loading<S>, "here" | "elsewhere"> & { end(code: bigint | number): S } {
    this.resource.assertLive();
    const doing = "loading a model";
    const [kept, undo]: [Undo, Undo] = [[], []];
    const name = ArrayBuffer.isView(model) ? "a model" : shown(model);
    const loading = allOrNothing(
      doing,
      () => allOrNothing(doing, () => this.load(model, name, options, kept, undo), undo),
      kept,
    );
    const end = (code: bigint | number) =>
      allOrNothing(doing, (unmake) =>
        thenUndo(doing, () => {
          const session = allOrNothing(doing, () => loading.session(code, kept), kept);
          unmake.push(() => session[Symbol.dispose]());
          return session;
        }, undo));
    return { here: loading.here, elsewhere: loading.elsewhere, end };
  }
}

/** The ports of GPU memory, which another API allocates and exports by the offer `takes`. */
export function gpuMemory<T extends InferenceTensor>(
  ports: Memory<T, Address>,
  takes: Partial<Offer> & Pick<Offer, "kind">,
  { api, name }: Context,
): Memory<T, Address> {
  return {
    ...ports,
    exports: [],
    imports: ports.imports.map((offer) => ({ ...offer, ...takes })),
    addressOf: () => undefined, // the CPU does not see it
    allocate() {
      throw new InteropError(`memory of ${name} is allocated by its own API.`, { api, hint: ALLOCATE });
    },
  };
}

const ALLOCATE = "Allocate it in the context that this one was opened on, and map it.";
const NOT_HOST = "models in this context run on another API's memory.";

/** The layout of such an object; a scalar is one element. */
function layoutOf({ shape }: ValueInfo, { dtype }: ElementKind): Layout {
  return layout({ shape: shape.length === 0 ? [1] : shape, dtype });
}

/** The ports of host memory. `tensor` makes its tensors. */
export function inferenceMemory<T extends InferenceTensor>(
  name: string,
  { dtypes }: Elements,
  tensor: (init: TensorInit<Address>) => T,
): Memory<T, Address> {
  const pointers = samePointers(tensor);
  const takes = { dtypes, dense: "all", of: name } as const;
  return {
    ...pointers,
    imports: pointers.imports.map((offer) => ({ ...offer, takes })),
    allocate(byteLength) {
      const { address, free } = mapBlock({ byteLength, align: PAGE, sharable: false, guard: false });
      return { handle: address, address, release: () => free("unused") };
    },
  };
}
