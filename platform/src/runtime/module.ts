import type { Caller } from '@commonplace/kit/auth';
import type { Table, Values } from '@commonplace/kit/config';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import type { IdentifiedStore } from '@commonplace/kit/installation';
import type { Log } from '@commonplace/kit/log';
import type { CallOptions, Client, Handlers, ServiceContract, Shedding } from '@commonplace/kit/rpc';
import type { SpaceGuard } from '@commonplace/kit/space';
import type { Store } from '@commonplace/kit/store';
import type { Lifecycle } from './lifecycle.js';
import type { Migration } from './migrations.js';

/** What a service or the gateway is, needs and does, for the runtime, the chart and the network policies. */
export interface ServiceModule {
  readonly name: string;
  readonly config: Table;
  /** Whether it stores records; the gateway does not. */
  readonly stores: boolean;
  /** Whether it also stores files in the data folder, such as an index. */
  readonly storesFiles?: boolean;
  /** The contracts of other services that it calls. `host.client` gives no client of any other one. */
  readonly calls: readonly ServiceContract<unknown>[];
  /** Whether it connects to hosts that users or operators name, so that its network policy must admit the internet. */
  readonly reachesInternet?: boolean;
  /** Migrations of data that earlier releases have stored, oldest first; none may ever be removed. */
  readonly migrations?: readonly Migration[];
  /** Opens the stores, apart from its records, that carry the installation's id; called before the module starts. */
  boundStores?(places: Pick<Host, 'settings' | 'dataDir'>): Promise<readonly IdentifiedStore[]>;
  start(host: Host): Promise<StartedModule>;
}

/** A declaration whose host has clients of the declared contracts only. */
interface Declaration<Calls extends readonly ServiceContract<unknown>[]>
  extends Omit<ServiceModule, 'calls' | 'start'> {
  readonly calls: Calls;
  start(host: Host<Calls[number]>): Promise<StartedModule>;
}

/** Declares a service. The compiler refuses a client of a contract that `calls` does not list. */
export function defineService<const Calls extends readonly ServiceContract<unknown>[]>(
  declaration: Declaration<Calls>,
): ServiceModule {
  return declaration as unknown as ServiceModule;
}

export type ClientOf<Contract> = Contract extends ServiceContract<infer S> ? Client<S> : never;

/** Contracts of other services, by the names that a service gives their clients. */
export type ContractTable = Readonly<Record<string, ServiceContract<unknown>>>;

export type Clients<T extends ContractTable> = { readonly [Name in keyof T]: ClientOf<T[Name]> };

export function openClients<T extends ContractTable>(host: Pick<Host<T[keyof T]>, 'client'>, table: T): Clients<T> {
  const opened: Record<string, unknown> = {};
  for (const [name, contract] of Object.entries(table)) opened[name] = host.client(contract as T[keyof T]);
  return opened as Clients<T>;
}

/** What a process provides to its modules. `Callable` are the contracts whose clients a module may have. */
export interface Host<Callable extends ServiceContract<unknown> = ServiceContract<unknown>> {
  /** Returns the module's own settings, parsed according to `table`. */
  settings<T extends Table>(table: T): Values<T>;
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  /**
   * Watches the events that this process's own stores commit. Watchers are called before the commit resolves; undefined
   * if other processes make changes too.
   */
  readonly watchOwn: EventBus['watch'] | undefined;
  /** Folder for files of the embedded adapters. */
  readonly dataDir: string;
  /** Id of the installation that everything belongs to; empty for a module that stores no records. */
  readonly installationId: string;
  /** Returns a client of a service, in this process or another one. Throws if the module has not declared the call. */
  readonly client: <Contract extends Callable>(contract: Contract) => ClientOf<Contract>;
  /** Type marker: the compiler refuses to pass a host with few clients where one with more is required. */
  readonly callable?: (contract: Callable) => void;
  /** Returns options for a call without a caller; its deadline is `timeoutMs` from now. */
  systemCall(timeoutMs?: number): CallOptions;
  /** Verifies a caller token and returns the caller. */
  verifyCaller(token: string): Caller | Promise<Caller>;
  /** Load shedding of this process. */
  readonly shedding: Shedding;
  /**
   * Returns the highest utilization of an event loop, from 0 to 1, that other processes reported in their answers to this
   * module since the last call; 0 if none did.
   */
  takePeerUtilization(): number;
  /** Returns false once this process can no longer write its records. */
  isHealthy(): boolean;
  /**
   * Checks with the stores apart from the records that no other database with the same id has taken them over. Code
   * that may delete something there must call it first.
   */
  holdsStores(): Promise<boolean>;
  /** Returns whether every module of this process has begun; everything that the first start creates exists then. */
  hasBegun(): boolean;
  /** Guard of the disk space in `dataDir`; undefined if this process stores nothing there. */
  readonly space: SpaceGuard | undefined;
  /** Opens the guard for a module that stores its own files in `dataDir`. */
  openSpace(): Promise<SpaceGuard>;
}

export interface Implementation {
  readonly contract: ServiceContract<unknown>;
  readonly handlers: unknown;
}

/** Pairs a contract with its handlers, so that the compiler checks that they match. */
export function implement<S>(contract: ServiceContract<S>, handlers: Handlers<S>): Implementation {
  return { contract, handlers };
}

export interface StartedModule {
  readonly implementations: readonly Implementation[];
  /** Begins in this order and closes in the opposite one, so that each may use what stands before it. */
  readonly runs?: readonly Lifecycle[];
  /** Subscribes to events, once all of `runs` have begun. The subscriptions end when the process drains. */
  consume?(): readonly Promise<Subscription>[];
}
