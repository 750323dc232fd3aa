import { once } from '@commonplace/kit/cache';
import { invalidField } from '@commonplace/kit/errors';
import { lazyLibrary } from '@commonplace/kit/library';

const library = lazyLibrary<typeof import('@zxcvbn-ts/language-common')>('@zxcvbn-ts/language-common', import.meta.url);

/** Minimum number of characters that remain of a password after easily guessed words are removed. */
const MIN_OWN_CHARACTERS = 5;
const MIN_CONTEXT_WORD_LENGTH = 4;
const PRODUCT_WORDS = ['commonplace'];

/** Facts about a person that an attacker may know. */
interface PasswordContext {
  readonly email: string;
  readonly name: string;
}

/**
 * Returns whether a password is in the list of 49,233 common ones, ignoring case. Entries shorter than 8 characters
 * are skipped, since such passwords are refused anyway.
 */
function isCommon(password: string, minLength: number): boolean {
  return minLength > 0 && loadCommonPasswords().has(password.toLowerCase());
}

/** Loads the list of common passwords, which takes some 80 ms, unless it is loaded. */
export const loadCommonPasswords = once(
  (): ReadonlySet<string> =>
    new Set((library().dictionary['passwords-common'] as readonly string[]).filter((word) => word.length >= 8)),
);

/** Requirements for new passwords. */
export interface PasswordRules {
  readonly minLength: number;
  /** Returns whether a password is known from a breach of another system. */
  isBreached(password: string): Promise<boolean>;
}

/**
 * Throws `weak_password` if a new password is too short, very common, breached, or little more than the person's name
 * or address (OWASP ASVS 5.0, 6.2.1, 6.2.4, 6.2.11 and 6.2.12). No kinds of characters are required. `param` names the
 * faulty field.
 */
export async function requireGoodPassword(
  param: string,
  password: string,
  about: PasswordContext,
  { minLength, isBreached }: PasswordRules,
): Promise<void> {
  const normal = password.normalize('NFKC');
  if ([...normal].length < minLength) {
    throw invalidField(param, 'weak_password', `${param} must have ${minLength} characters or more.`);
  }
  if (isCommon(normal, minLength)) {
    throw invalidField(param, 'weak_password', `${param} is one of the most common passwords. Choose another.`);
  }
  if (isGuessable(normal, about)) {
    throw invalidField(param, 'weak_password', `${param} is too close to the name, the address or the product.`);
  }
  // The list may contain the password in its original or its normalized form, so both are looked up.
  if ((await isBreached(password)) || (normal !== password && (await isBreached(normal)))) {
    throw invalidField(param, 'weak_password', `${param} is known from a breach of another system. Choose another.`);
  }
}

function isGuessable(password: string, { email, name }: PasswordContext): boolean {
  const words = `${email} ${name}`
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  const known = [email.trim().toLowerCase(), ...words, ...PRODUCT_WORDS]
    .filter((word) => word.length >= MIN_CONTEXT_WORD_LENGTH)
    .sort((a, b) => b.length - a.length);
  const text = password.toLowerCase();
  const own = known.reduce((left, word) => left.replaceAll(word, ''), text);
  return own !== text && [...own].length < MIN_OWN_CHARACTERS;
}
