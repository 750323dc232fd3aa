import { AppError } from '@commonplace/kit/errors';
import { UrlNotAllowed } from '@commonplace/kit/fetch';
import { LostRace } from '@commonplace/kit/store';
import { TemplateFault } from '../domain/templates.js';
import type { RunFailure } from './records.js';

/** Maximum characters of a stored error message. */
const MAX_MESSAGE_LENGTH = 1_000;

interface ActionErrorOptions {
  /** Whether the same attempt may succeed later. */
  readonly retryable?: boolean;
  /**
   * Whether a service of this system was away, or the token of the run had expired: the action waits, which uses up none
   * of its retries.
   */
  readonly isAway?: boolean;
  /** Milliseconds that the other service asked to wait. */
  readonly waitMs?: number;
  /** Whether it is unknown if the call has taken effect, so that it must not be repeated. */
  readonly isUnknown?: boolean;
  /** The message for readers who may not see the data of the run; it must not contain any of it. */
  readonly publicMessage?: string;
}

/** The error of a failed action, as those who may see the data of the run see it. */
export class ActionError extends Error {
  readonly retryable: boolean;
  readonly isAway: boolean;
  readonly waitMs: number;
  readonly isUnknown: boolean;
  readonly publicMessage: string | undefined;

  constructor(
    readonly code: string,
    message: string,
    { retryable = false, isAway = false, waitMs = 0, isUnknown = false, publicMessage }: ActionErrorOptions = {},
  ) {
    super(message.slice(0, MAX_MESSAGE_LENGTH));
    this.name = 'ActionError';
    this.retryable = retryable;
    this.isAway = isAway;
    this.waitMs = waitMs;
    this.isUnknown = isUnknown;
    this.publicMessage = publicMessage;
  }

  /** Returns an error whose message contains no data of the run, so that every reader of the run may see it. */
  static withoutData(code: string, message: string, options: ActionErrorOptions = {}): ActionError {
    return new ActionError(code, message, { ...options, publicMessage: message });
  }
}

/** Ends a run, whatever the action's `on_error` says. Its message contains no data of the run. */
export class RunError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryable = false,
  ) {
    super(message);
    this.name = 'RunError';
  }

  get publicMessage(): string {
    return this.message;
  }
}

export const permissionLost = (): RunError =>
  new RunError('permission_lost', 'The person with whose rights the automation runs no longer has access.');

const PASSING_CODES: ReadonlySet<AppError['code']> = new Set([
  ...(['DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'CANCELLED', 'INTERNAL'] as const),
]);
/** Codes of errors after which an action waits. Lost access is reported by `permission_lost` instead. */
const AWAY_CODES: ReadonlySet<AppError['code']> = new Set(['UNAVAILABLE', 'UNAUTHENTICATED']);

/**
 * Converts an error into one that people who may see the data of the run may read. What other services answer may repeat
 * that data.
 */
export function actionErrorOf(error: unknown): ActionError {
  if (error instanceof ActionError) return error;
  if (error instanceof TemplateFault) {
    const { code, at, message, found } = error;
    const publicMessage = `config.${at} ${message}.`;
    return new ActionError(code, found ? `config.${at} ${message}: ${found}.` : publicMessage, { publicMessage });
  }
  if (error instanceof UrlNotAllowed) return new ActionError('url_not_allowed', error.message);
  if (error instanceof LostRace)
    return ActionError.withoutData('conflict', 'Other changes to the same data were committed first.', {
      retryable: true,
    });
  if (!(error instanceof AppError) || error.code === 'INTERNAL') {
    return ActionError.withoutData('internal', 'Something went wrong on our side.', { retryable: true });
  }
  const { code, reason, message, param, retryAfter = 0 } = error;
  if (reason === 'tenant_boundary') return ActionError.withoutData(reason, ELSEWHERE);
  const isAway = AWAY_CODES.has(code);
  // A call with the same key is still running; no service stores that refusal under the key.
  const retryable = isAway || PASSING_CODES.has(code) || reason === 'idempotency_in_progress';
  const isNamed = param === undefined || message.startsWith(param);
  return new ActionError(reason, isNamed ? message : `${param}: ${message}`, {
    retryable,
    isAway,
    waitMs: retryAfter * 1000,
  });
}

/** The other services say of the token of a run that the key is limited to its workspace. */
const ELSEWHERE = 'The action names something outside of the workspace: an automation acts only in its own.';

export function failureOf(
  { code, message, publicMessage, retryable }: ActionError | RunError,
  actionId?: string,
): RunFailure {
  return { code, message, publicMessage, actionId, retryable };
}

/** The message for readers who may not see data that the stored one may contain. */
const HIDDEN_MESSAGE = 'The reason is shown to people who may see the data of the run.';

/** Returns a failure with the message that readers who may not see the data of the run may see. */
export function withoutData(failure: RunFailure): RunFailure {
  return { ...failure, message: failure.publicMessage ?? HIDDEN_MESSAGE };
}
