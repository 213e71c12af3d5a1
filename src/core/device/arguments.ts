import type { Address } from "../../../ffi/address.ts";
import { aKind } from "../argument.ts";
import { ofArgument } from "../errors.ts";
import type { Access } from "../memory/access.ts";
import { addressOf } from "../native/pin.ts";
import { Mapped } from "../tensors/mapped.ts";
import { type Launch, wrongLaunch } from "./grid.ts";
import type { Usable, Use } from "./line.ts";
import type { Parameter } from "./parameter.ts";

interface Slot {
  tensor: Usable;
  access: Access;
  readonly argument: string;
}

const NOTHING = Symbol("no argument");
const NOBODY = undefined as unknown as Usable;

/**
 * The packed arguments of one native kernel. An argument that has not changed since the last launch is neither checked
 * nor set again. A tensor is remembered by its id, which is never reused and keeps no tensor alive; a number by its
 * value. Nothing else is remembered, because its bytes may change.
 * @typeParam C the context that the kernel runs in
 */
export class Arguments<C, U extends Usable = Usable> {
  readonly parameters: readonly Parameter<C>[];
  protected readonly offsets: readonly number[];
  /** The packed values. Their memory never moves. */
  protected readonly view: DataView<ArrayBuffer>;
  /** The address of the first byte of {@link view}. Valid for as long as this is reachable. */
  protected readonly address: Address;
  readonly #has: unknown[];
  readonly #slots: readonly Slot[];
  /** The slots of arguments that can be disposed. Numbers and null pointers cannot. */
  #uses: readonly Slot[] = [];

  constructor(parameters: readonly Parameter<C>[], api: string, head: number = 0) {
    let end = head;
    this.offsets = parameters.map(({ align, size }) => {
      const offset = Math.ceil(end / align) * align;
      end = offset + size;
      return offset;
    });
    this.parameters = parameters;
    this.view = new DataView(new ArrayBuffer(Math.max(end, 8)));
    this.address = addressOf(this.view, api);
    this.#slots = parameters.map(({ argument }) => ({ tensor: NOBODY, access: "read", argument }));
    this.#has = parameters.map(() => NOTHING);
  }

  /**
   * Takes one argument for each parameter; checks, packs and sets those that changed. Returns what the kernel uses, until
   * {@link release}. The caller checks whether it may be used now.
   * @throws {ArgumentError} and what {@link Parameter.pack} throws.
   */
  take(args: readonly unknown[], context: C): readonly Use<U>[] {
    const has = this.#has;
    const slots = this.#slots;
    for (let i = 0; i < slots.length; i++) {
      const value = args[i];
      if (value instanceof Mapped) {
        if (value.id === has[i]) slots[i].tensor = value;
        else this.#change(i, value, context);
      } else if (!Object.is(value, has[i])) this.#change(i, value, context);
    }
    return this.#uses as readonly Slot[] as readonly Use<U>[];
  }

  release(): void {
    const uses = this.#uses;
    for (let i = 0; i < uses.length; i++) uses[i].tensor = NOBODY;
  }

  /** Forgets the arguments: other code may have set some. */
  forget(): void {
    this.#has.fill(NOTHING);
  }

  /** Sets a packed value on the native kernel, unless the kernel reads {@link view} itself. */
  protected set(_index: number, _value: unknown, _used: Usable | undefined): void {}

  #change(i: number, value: unknown, context: C): void {
    const parameter = this.parameters[i];
    const slot = this.#slots[i];
    this.#has[i] = NOTHING;
    try {
      const used = parameter.pack(value, this.view, this.offsets[i], context);
      this.set(i, value, used);
      slot.tensor = used ?? NOBODY;
      if (used !== undefined) slot.access = parameter.accessTo(used);
      if (this.#uses.includes(slot) !== (used !== undefined)) {
        this.#uses = this.#slots.filter((each) => each === slot ? used !== undefined : this.#uses.includes(each));
      }
    } catch (error) {
      this.release();
      throw ofArgument(error, parameter.where, parameter.argument);
    }
    if (value instanceof Mapped) this.#has[i] = value.id;
    else if (typeof value !== "object" || value === null) this.#has[i] = value;
  }
}

export function assertArguments(args: unknown, types: readonly string[], launch: Launch): void {
  if (Array.isArray(args) && args.length === types.length) return;
  const what = Array.isArray(args)
    ? `expected ${types.length} argument${types.length === 1 ? "" : "s"} (${types.join(", ")}), got ${args.length}.`
    : `expected an array, got ${aKind(args)}.`;
  throw wrongLaunch(launch, "args", what);
}
