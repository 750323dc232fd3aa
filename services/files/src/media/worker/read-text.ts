import type { Extraction, TextLimits } from '../protocol.js';

export type ReadText = (file: Buffer, limits: TextLimits) => Extraction | Promise<Extraction>;
