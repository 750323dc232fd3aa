/** Returns the normalized form of an e-mail address, for comparison. The address itself is stored as it was typed. */
export function emailKeyOf(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** Returns the lower-cased part of an address after its last `@`. */
export function domainOf(email: string): string {
  const key = emailKeyOf(email);
  return key.slice(key.lastIndexOf('@') + 1);
}
