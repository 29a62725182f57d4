package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetch is how many rows ahead of the present one are fetched.
const prefetch = 6

// tileLoop generates the loops over the runs of a tile and the rows of a run.
// Inside, a row has quads fours and rem more non-zeros, off points at the first
// one's offset, and ptr at the row of the panel.
type tileLoop struct {
	width, rowBytes   int
	shift             uint64 // of a row number, for its place in a panel
	runs, nruns, rows reg.Register
	off               reg.Register
	left              reg.Register // rows of the run
	quads, rem        reg.Register
	idx, ptr          reg.Register
}

// newTileLoop loads the parameters runs, nruns, rows and off.
func newTileLoop(width int) *tileLoop {
	l := &tileLoop{width: width, rowBytes: 4 * width}
	for 1<<l.shift < l.rowBytes {
		l.shift++
	}
	l.runs = Load(Param("runs"), GP64())
	l.nruns = Load(Param("nruns"), GP64())
	l.rows = Load(Param("rows"), GP64())
	l.off = Load(Param("off"), GP64())
	return l
}

// scratch takes the registers of the loops.
func (l *tileLoop) scratch() {
	l.quads, l.left, l.rem, l.idx, l.ptr = GP64(), GP64(), GP64(), GP64(), GP64()
}

// at addresses bytes of the row of x whose offset is in idx: offsets are
// columns times 32 in units of 8 bytes, for panels of 64.
func (l *tileLoop) at(x reg.Register, bytes int) Mem {
	return Mem{Base: x, Index: l.idx, Scale: uint8(l.width / 8), Disp: bytes}
}

// begin opens the loops over rows of the panel at base. Runs of empty rows are
// skipped, unless what keepEmpty emits jumps to the label row.
func (l *tileLoop) begin(base reg.Register, keepEmpty func()) {
	Label("run")
	TESTQ(l.nruns, l.nruns)
	JE(LabelRef("done"))
	DECQ(l.nruns)
	MOVWQZX(Mem{Base: l.runs}, l.quads)
	MOVWQZX(Mem{Base: l.runs, Disp: 2}, l.left)
	ADDQ(Imm(4), l.runs)
	MOVQ(l.quads, l.rem)
	ANDQ(Imm(3), l.rem)
	SHRQ(Imm(2), l.quads)
	MOVQ(l.quads, l.idx)
	ORQ(l.rem, l.idx)
	JNE(LabelRef("row"))
	keepEmpty()
	LEAQ(Mem{Base: l.rows, Index: l.left, Scale: 2}, l.rows)
	JMP(LabelRef("run"))

	Label("row")
	MOVWQZX(Mem{Base: l.rows, Disp: 2 * prefetch}, l.ptr)
	SHLQ(Imm(l.shift), l.ptr)
	for i := 0; i < l.rowBytes; i += 64 {
		PREFETCHT0(Mem{Base: base, Index: l.ptr, Scale: 1, Disp: i})
	}
	MOVWQZX(Mem{Base: l.rows}, l.ptr)
	SHLQ(Imm(l.shift), l.ptr)
	ADDQ(base, l.ptr)
}

// end closes the loops and returns.
func (l *tileLoop) end() {
	ADDQ(Imm(2), l.rows)
	DECQ(l.left)
	JNE(LabelRef("row"))
	JMP(LabelRef("run"))

	Label("done")
	VZEROUPPER()
	RET()
}
