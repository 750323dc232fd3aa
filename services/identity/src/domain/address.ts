/** What an e-mail address is compared by; the address itself is kept as it was typed. */
export function emailKeyOf(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}

/** What stands behind the last `@`, lower-cased. */
export function domainOf(email: string): string {
  const key = emailKeyOf(email);
  return key.slice(key.lastIndexOf('@') + 1);
}
