const MICROS = 1_000_000;

/** Converts millionths of a credit into a decimal number of credits: `1250000` becomes `1.25`. */
export function formatCredits(micros: number): string {
  const whole = Math.trunc(micros / MICROS);
  const rest = String(Math.abs(micros % MICROS))
    .padStart(6, '0')
    .replace(/0+$/, '');
  const sign = micros < 0 && whole === 0 ? '-' : '';
  return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`;
}

/**
 * Parses a decimal number of credits with up to six decimal places; undefined if it is not one, or too large to be
 * exact.
 */
export function parseCredits(text: string): number | undefined {
  const found = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  if (found === null) return undefined;
  return Number(found[1]) * MICROS + Number((found[2] ?? '').padEnd(6, '0'));
}
