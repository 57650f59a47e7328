// read_parquet.mjs FILE: prints the rows of a Parquet file as lines of JSON, a part of a row group at a time, and no
// faster than they are read.
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { once } from 'node:events'

const kRowsAtOnce = 4096

/** What JSON cannot say: integers of 64 bits become numbers or, where these are not exact, text; bytes become text. */
function plain(key, value) {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value.toString()
  }
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  return value
}

async function print(path) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const total = Number(metadata.num_rows)
  let groupStart = 0
  for (const group of metadata.row_groups) {
    const groupEnd = groupStart + Number(group.num_rows)
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += kRowsAtOnce) {
      const rowEnd = Math.min(rowStart + kRowsAtOnce, groupEnd)
      const rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors })
      for (const row of rows)
        if (!process.stdout.write(JSON.stringify(row, plain) + '\n')) await once(process.stdout, 'drain')
    }
    groupStart = groupEnd
  }
  if (groupStart !== total) throw new Error(`its row groups have ${groupStart} rows, its metadata says ${total}`)
}

const path = process.argv[2]
if (path === undefined) {
  console.error('usage: read_parquet.mjs FILE')
  process.exit(2)
}
process.stdout.on('error', () => process.exit(0)) // the reader wants no more
print(path).catch(error => {
  console.error(`not a readable Parquet file: ${error.message}`)
  process.exitCode = 1
})
