/** Parses integers separated by spaces. */
export function numbersIn(text: string, count: number): Float64Array {
  const numbers = new Float64Array(count);
  let at = 0;
  let number = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x20) {
      numbers[at++] = number;
      number = 0;
    } else number = number * 10 + unit - 0x30;
  }
  if (at < count) numbers[at] = number;
  return numbers;
}
