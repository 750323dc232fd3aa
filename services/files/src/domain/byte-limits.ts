/** A maximum number of bytes, with the setting that it comes from. */
export interface ByteLimit {
  readonly bytes: number;
  readonly setting: string;
}

/** A limit that is a setting's or, without `setting`, what the client has announced. */
export type AnyByteLimit = Pick<ByteLimit, 'bytes'> & Partial<ByteLimit>;

/** The settings that limit bytes. */
interface ByteSettings {
  readonly fileBytes: number;
  readonly inlineFileBytes: number;
  readonly singleUploadBytes: number;
  readonly importArchiveBytes: number;
  readonly importImageBytes: number;
}

/** Returns the maximum size of a file, whether its bytes are uploaded, fetched or imported. */
export const fileLimit = ({ fileBytes }: ByteSettings): ByteLimit => ({
  bytes: fileBytes,
  setting: 'COMMONPLACE_FILE_BYTES',
});

/** Returns the limit of a file that is contained in a request. */
export const inlineLimit = (settings: ByteSettings): ByteLimit =>
  lowest(fileLimit(settings), { bytes: settings.inlineFileBytes, setting: 'COMMONPLACE_INLINE_FILE_BYTES' });

/** Returns the limit of the source of an import that is uploaded. */
export const sourceLimit = (settings: ByteSettings): ByteLimit =>
  lowest(fileLimit(settings), { bytes: settings.importArchiveBytes, setting: 'COMMONPLACE_IMPORT_ARCHIVE_BYTES' });

/** Returns the limit of an upload of which no size was announced: of a file, or of the source of an import. */
export const unannouncedLimit = (settings: ByteSettings, isSource: boolean): ByteLimit =>
  lowest(isSource ? sourceLimit(settings) : fileLimit(settings), {
    bytes: settings.singleUploadBytes,
    setting: 'COMMONPLACE_SINGLE_UPLOAD_BYTES',
  });

/** Returns the limit of an image that an import fetches. */
export const imageLimit = (settings: ByteSettings): ByteLimit =>
  lowest(fileLimit(settings), { bytes: settings.importImageBytes, setting: 'COMMONPLACE_IMPORT_IMAGE_BYTES' });

/** Returns the first limit unless the second is lower. */
function lowest(one: ByteLimit, other: ByteLimit): ByteLimit {
  return other.bytes < one.bytes ? other : one;
}
