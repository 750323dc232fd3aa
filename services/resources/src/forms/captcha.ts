import { createHash } from 'node:crypto';

/** Zero bits that a proof begins with: some ten thousand hashes, a moment for one, dear for a million. */
export const CAPTCHA_BITS = 14;

/** Whether a text proves work for one submission of a form: nobody else is asked, and nothing is remembered. */
export function provesWork(formToken: string, submissionId: string, text: string): boolean {
  const hash = createHash('sha256').update(`${formToken}:${submissionId}:${text}`).digest();
  return text !== '' && hash.readUInt32BE(0) >>> (32 - CAPTCHA_BITS) === 0;
}
