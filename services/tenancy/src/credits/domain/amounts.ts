/**
 * An amount of credits in millionths of a credit, always a whole number. Amounts of one call are bounded, so that sums
 * stay far below `Number.MAX_SAFE_INTEGER` and are exact.
 */
export type Micros = number;

const MICROS_PER_CREDIT = 1_000_000;
/** Maximum amount of one call, a million credits. */
export const MAX_CALL: Micros = 1_000_000 * MICROS_PER_CREDIT;
/** Maximum amount of one grant, and of a tenant's balance: a billion credits. */
export const MAX_BALANCE: Micros = 1_000_000_000 * MICROS_PER_CREDIT;

const DECIMAL = /^(\d{1,12})(?:\.(\d{1,30}))?$/;

/**
 * Parses a decimal number of credits that is not negative; places beyond the sixth are rounded half up. Returns
 * undefined for other text, and for an amount above `most`.
 */
export function parseAmount(text: string, most: Micros = MAX_CALL): Micros | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const kept = fraction.slice(0, 6).padEnd(6, '0');
  const roundsUp = (fraction[6] ?? '0') >= '5';
  const micros = BigInt(whole) * BigInt(MICROS_PER_CREDIT) + BigInt(kept) + (roundsUp ? 1n : 0n);
  return micros > BigInt(most) ? undefined : Number(micros);
}

/** Writes an amount as a decimal number without needless zeros: `-0.25`. */
export function formatAmount(micros: Micros): string {
  const digits = String(Math.abs(micros)).padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  const sign = micros < 0 ? '-' : '';
  return `${sign}${digits.slice(0, -6)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Converts whole credits, the unit of settings, to millionths. */
export function ofCredits(credits: number): Micros {
  return credits * MICROS_PER_CREDIT;
}
