export type Status = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly status: Status;
  /** One or two sentences for people. */
  readonly detail: string;
  /** The same as data for programs. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Check {
  readonly name: string;
  run(): Finding | Promise<Finding>;
}

export interface Result extends Finding {
  readonly name: string;
  readonly ms: number;
}

export const ok = (detail: string, facts?: Finding['facts']): Finding => ({ status: 'ok', detail, facts });
export const warning = (detail: string, facts?: Finding['facts']): Finding => ({ status: 'warning', detail, facts });
export const failed = (detail: string, facts?: Finding['facts']): Finding => ({ status: 'failed', detail, facts });
export const skipped = (detail: string): Finding => ({ status: 'skipped', detail });

/** Runs checks in parallel. A check that takes longer than `deadlineMs` fails. Never rejects. */
export function runChecks(checks: readonly Check[], deadlineMs: number): Promise<Result[]> {
  return Promise.all(checks.map((check) => runCheck(check, deadlineMs)));
}

async function runCheck({ name, run }: Check, deadlineMs: number): Promise<Result> {
  const began = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => resolve(failed(`no result within ${deadlineMs / 1000} s`)), deadlineMs);
  });
  const found = await Promise.race([late, Promise.resolve().then(run)]).catch((error) => failed(errorLine(error)));
  clearTimeout(timer);
  return { name, ...found, ms: Math.round(performance.now() - began) };
}

/** Returns the first line of an error's message; its code or name if the message is empty. */
export function errorLine(error: unknown): string {
  const { message, name, code } = error as { message?: unknown; name?: unknown; code?: unknown };
  return String(message || code || name || error).split('\n')[0] as string;
}

/** Combines findings into one. It has the worst of their statuses, and the details of all that are not ok. */
export function worstOf(findings: readonly Finding[], facts?: Finding['facts']): Finding {
  const order: readonly Status[] = ['failed', 'warning', 'ok', 'skipped'];
  const status = order.find((one) => findings.some((finding) => finding.status === one)) ?? 'ok';
  const reported = status === 'ok' ? findings : findings.filter((finding) => finding.status !== 'ok');
  return { status, detail: reported.map(({ detail }) => detail).join('; '), facts };
}
