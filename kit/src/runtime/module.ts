import type { Caller } from '../auth/caller.js';
import type { Table, Values } from '../config/index.js';
import type { EventBus } from '../events/port.js';
import type { Log } from '../log/index.js';
import type { CallOptions, Client, Handlers, ServiceContract } from '../rpc/port.js';
import type { Shedding } from '../rpc/shedding.js';
import type { Store } from '../store/port.js';
import type { Migration } from './migrations.js';

/** A service, or the gateway: what it is called, what it reads, how it starts. */
export interface ServiceModule {
  readonly name: string;
  readonly config: Table;
  /** Keeps records; the gateway does not. */
  readonly stores: boolean;
  /** Changes of what earlier releases have stored, oldest first; none is ever taken out. */
  readonly migrations?: readonly Migration[];
  start(host: Host): Promise<StartedModule>;
}

/** What a process gives to the modules that it runs. */
export interface Host {
  /** The module's own settings; `settings` reads them with their types. */
  settings<T extends Table>(table: T): Values<T>;
  readonly log: Log;
  readonly store: Store;
  readonly bus: EventBus;
  /** Folder for files of the embedded adapters. */
  readonly dataDir: string;
  /** A client of any service, in this process or another. */
  client<S>(contract: ServiceContract<S>): Client<S>;
  /** Options of a call that nobody is behind; it is given up after so many milliseconds. */
  systemCall(timeoutMs?: number): CallOptions;
  /** Verifies a caller token. */
  verifyCaller(token: string): Caller | Promise<Caller>;
  /** What this process has room for. */
  readonly shedding: Shedding;
  /** False when this process can't write its records any more. */
  isHealthy(): boolean;
}

export interface Implementation {
  readonly contract: ServiceContract<unknown>;
  readonly handlers: unknown;
}

/** Pairs a contract with its handlers, so that the compiler sees that they fit. */
export function implement<S>(contract: ServiceContract<S>, handlers: Handlers<S>): Implementation {
  return { contract, handlers };
}

export interface StartedModule {
  readonly implementations: readonly Implementation[];
  /** Starts what needs the other services: consumers, jobs, listening. */
  begin?(): Promise<void>;
  /** Stops taking work; finishes or hands back what runs. */
  drain?(): Promise<void>;
  close?(): Promise<void>;
}
