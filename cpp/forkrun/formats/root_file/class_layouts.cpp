// Made by print_class_layouts.cpp.
// clang-format off
#include <forkrun/formats/root_file/class_layouts.hpp>

namespace forkrun::root_io {

namespace {

constexpr ElementLayout class_0[] = {
    {ElementKind::basic_type, "fVersionEpoch", "", 12, 2, 0, 0, {0, 0, 0, 0, 0}, "unsigned short"},
    {ElementKind::basic_type, "fVersionMajor", "", 12, 2, 0, 0, {0, 0, 0, 0, 0}, "unsigned short"},
    {ElementKind::basic_type, "fVersionMinor", "", 12, 2, 0, 0, {0, 0, 0, 0, 0}, "unsigned short"},
    {ElementKind::basic_type, "fVersionPatch", "", 12, 2, 0, 0, {0, 0, 0, 0, 0}, "unsigned short"},
    {ElementKind::basic_type, "fSeekHeader", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fNBytesHeader", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fLenHeader", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fSeekFooter", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fNBytesFooter", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fLenFooter", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
    {ElementKind::basic_type, "fMaxKeySize", "", 14, 8, 0, 0, {0, 0, 0, 0, 0}, "unsigned long"},
};
constexpr ElementLayout class_1[] = {
    {ElementKind::basic_type, "fIOBits", "", 11, 1, 0, 0, {0, 0, 0, 0, 0}, "unsigned char"},
};
constexpr ElementLayout class_2[] = {
    {ElementKind::basic_type, "fN", "Number of array elements", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
};
constexpr ElementLayout class_3[] = {
    {ElementKind::base, "TArray", "Abstract array base class", 0, 0, 0, 0, {0, 7348658, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_pointer, "fArray", "[fN] Array of fN doubles", 48, 8, 0, 0, {0, 0, 0, 0, 0}, "double*", 1, "fN", "TArray"},
};
constexpr ElementLayout class_5[] = {
    {ElementKind::basic_type, "fNdivisions", "Number of divisions(10000*n3 + 100*n2 + n1)", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fAxisColor", "Color of the line axis", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fLabelColor", "Color of labels", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fLabelFont", "Font for labels", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fLabelOffset", "Offset of labels", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fLabelSize", "Size of labels", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fTickLength", "Length of tick marks", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fTitleOffset", "Offset of axis title", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fTitleSize", "Size of axis title", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fTitleColor", "Color of axis title", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fTitleFont", "Font for axis title", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
};
constexpr ElementLayout class_6[] = {
    {ElementKind::basic_type, "fFillColor", "Fill area color", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fFillStyle", "Fill area style", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
};
constexpr ElementLayout class_7[] = {
    {ElementKind::basic_type, "fLineColor", "Line color", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fLineStyle", "Line style", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fLineWidth", "Line width", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
};
constexpr ElementLayout class_8[] = {
    {ElementKind::basic_type, "fMarkerColor", "Marker color", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fMarkerStyle", "Marker style", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fMarkerSize", "Marker size", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
};
constexpr ElementLayout class_9[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::base, "TAttAxis", "Axis attributes", 0, 0, 0, 0, {0, 1550843710, 0, 0, 0}, "BASE", 4},
    {ElementKind::basic_type, "fNbins", "Number of bins", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fXmin", "Low edge of first bin", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fXmax", "Upper edge of last bin", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fXbins", "Bin edges array in X", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::basic_type, "fFirst", "First bin to display", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fLast", "Last bin to display", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fBits2", "Second bit status word", 12, 2, 0, 0, {0, 0, 0, 0, 0}, "unsigned short"},
    {ElementKind::basic_type, "fTimeDisplay", "On/off displaying time values instead of numerics", 18, 1, 0, 0, {0, 0, 0, 0, 0}, "bool"},
    {ElementKind::string, "fTimeFormat", "Date&time format, ex: 09/12/99 12:34:00", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
    {ElementKind::object_pointer, "fLabels", "List of labels", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "THashList*"},
    {ElementKind::object_pointer, "fModLabs", "List of modified labels", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TList*"},
};
constexpr ElementLayout class_10[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::base, "TAttFill", "Fill area attributes", 0, 0, 0, 0, {0, -2545006, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fCompress", "Compression level and algorithm", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fBasketSize", "Initial Size of  Basket Buffer", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fEntryOffsetLen", "Initial Length of fEntryOffset table in the basket buffers", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fWriteBasket", "Last basket number written", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fEntryNumber", "Current entry number (last one filled in this branch)", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::object_any, "fIOFeatures", "IO features for newly-created baskets.", 62, 1, 0, 0, {0, 0, 0, 0, 0}, "ROOT::TIOFeatures"},
    {ElementKind::basic_type, "fOffset", "Offset of this branch", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fMaxBaskets", "Maximum number of Baskets so far", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fSplitLevel", "Branch split level", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fEntries", "Number of entries", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fFirstEntry", "Number of the first entry in this branch", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fTotBytes", "Total number of bytes in all leaves before compression", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fZipBytes", "Total number of bytes in all leaves after compression", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::object, "fBranches", "-> List of Branches of this branch", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::object, "fLeaves", "-> List of leaves of this branch", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::object, "fBaskets", "-> List of baskets of this branch", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::basic_pointer, "fBasketBytes", "[fMaxBaskets] Length of baskets on file", 43, 4, 0, 0, {0, 0, 0, 0, 0}, "int*", 13, "fMaxBaskets", "TBranch"},
    {ElementKind::basic_pointer, "fBasketEntry", "[fMaxBaskets] Table of first entry in each basket", 56, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t*", 13, "fMaxBaskets", "TBranch"},
    {ElementKind::basic_pointer, "fBasketSeek", "[fMaxBaskets] Addresses of baskets on file", 56, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t*", 13, "fMaxBaskets", "TBranch"},
    {ElementKind::string, "fFileName", "Name of file where buffers are stored (\"\" if in same file as Tree header)", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
};
constexpr ElementLayout class_11[] = {
    {ElementKind::base, "TBranch", "Branch descriptor", 0, 0, 0, 0, {0, 278366892, 0, 0, 0}, "BASE", 13},
    {ElementKind::object_pointer, "fRefTable", "pointer to the TRefTable", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TRefTable*"},
};
constexpr ElementLayout class_12[] = {
    {ElementKind::base, "TObject", "Basic ROOT object", 66, 0, 0, 0, {0, -1877229523, 0, 0, 0}, "BASE", 1},
    {ElementKind::string, "fName", "name of the collection", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
    {ElementKind::basic_type, "fSize", "number of elements in collection", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
};
constexpr ElementLayout class_13[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::base, "TAttLine", "Line attributes", 0, 0, 0, 0, {0, -1811462839, 0, 0, 0}, "BASE", 2},
    {ElementKind::base, "TAttFill", "Fill area attributes", 0, 0, 0, 0, {0, -2545006, 0, 0, 0}, "BASE", 2},
    {ElementKind::base, "TAttMarker", "Marker attributes", 0, 0, 0, 0, {0, 689802220, 0, 0, 0}, "BASE", 3},
    {ElementKind::basic_type, "fNcells", "Number of bins(1D), cells (2D) +U/Overflows", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::object, "fXaxis", "X axis descriptor", 61, 216, 0, 0, {0, 0, 0, 0, 0}, "TAxis"},
    {ElementKind::object, "fYaxis", "Y axis descriptor", 61, 216, 0, 0, {0, 0, 0, 0, 0}, "TAxis"},
    {ElementKind::object, "fZaxis", "Z axis descriptor", 61, 216, 0, 0, {0, 0, 0, 0, 0}, "TAxis"},
    {ElementKind::basic_type, "fBarOffset", "(1000*offset) for bar charts or legos", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fBarWidth", "(1000*width) for bar charts or legos", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fEntries", "Number of entries", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumw", "Total Sum of weights", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumw2", "Total Sum of squares of weights", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwx", "Total Sum of weight*X", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwx2", "Total Sum of weight*X*X", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fMaximum", "Maximum value for plotting", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fMinimum", "Minimum value for plotting", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fNormFactor", "Normalization factor", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fContour", "Array to display contour levels", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::object_any, "fSumw2", "Array of sum of squares of weights", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::string, "fOption", "Histogram options", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
    {ElementKind::object_pointer, "fFunctions", "->Pointer to list of functions (fits and user)", 63, 8, 0, 0, {0, 0, 0, 0, 0}, "TList*"},
    {ElementKind::basic_type, "fBufferSize", "fBuffer size", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_pointer, "fBuffer", "[fBufferSize] entry buffer", 48, 8, 0, 0, {0, 0, 0, 0, 0}, "double*", 8, "fBufferSize", "TH1"},
    {ElementKind::basic_type, "fBinStatErrOpt", "Option for bin statistical errors", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "TH1::EBinErrorOpt"},
    {ElementKind::basic_type, "fStatOverflows", "Per object flag to use under/overflows in statistics", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "TH1::EStatOverflows"},
};
constexpr ElementLayout class_14[] = {
    {ElementKind::base, "TH1", "1-Dim histogram base class", 0, 0, 0, 0, {0, 473383108, 0, 0, 0}, "BASE", 8},
    {ElementKind::base, "TArrayD", "Array of doubles", 0, 0, 0, 0, {0, 1899622196, 0, 0, 0}, "BASE", 1},
};
constexpr ElementLayout class_15[] = {
    {ElementKind::base, "TH1", "1-Dim histogram base class", 0, 0, 0, 0, {0, 473383108, 0, 0, 0}, "BASE", 8},
    {ElementKind::basic_type, "fScalefactor", "Scale factor", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwy", "Total Sum of weight*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwy2", "Total Sum of weight*Y*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwxy", "Total Sum of weight*X*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
};
constexpr ElementLayout class_16[] = {
    {ElementKind::base, "TH2", "2-Dim histogram base class", 0, 0, 0, 0, {0, 25310335, 0, 0, 0}, "BASE", 5},
    {ElementKind::base, "TArrayD", "Array of doubles", 0, 0, 0, 0, {0, 1899622196, 0, 0, 0}, "BASE", 1},
};
constexpr ElementLayout class_17[] = {
    {ElementKind::base, "TH1", "1-Dim histogram base class", 0, 0, 0, 0, {0, 473383108, 0, 0, 0}, "BASE", 8},
    {ElementKind::base, "TAtt3D", "3D attributes", 0, 0, 0, 0, {0, 30074, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fTsumwy", "Total Sum of weight*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwy2", "Total Sum of weight*Y*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwxy", "Total Sum of weight*X*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwz", "Total Sum of weight*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwz2", "Total Sum of weight*Z*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwxz", "Total Sum of weight*X*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwyz", "Total Sum of weight*Y*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
};
constexpr ElementLayout class_18[] = {
    {ElementKind::base, "TH3", "3-Dim histogram base class", 0, 0, 0, 0, {0, 1121076319, 0, 0, 0}, "BASE", 6},
    {ElementKind::base, "TArrayD", "Array of doubles", 0, 0, 0, 0, {0, 1899622196, 0, 0, 0}, "BASE", 1},
};
constexpr ElementLayout class_19[] = {
    {ElementKind::base, "TList", "Doubly linked list", 0, 0, 0, 0, {0, 1774568379, 0, 0, 0}, "BASE", 5},
};
constexpr ElementLayout class_20[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fNdimensions", "Number of dimensions", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::object, "fAxes", "Axes of the histogram", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::basic_type, "fEntries", "Number of entries, spread over chunks", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumw", "Total sum of weights", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumw2", "Total sum of weights squared; -1 if no errors are calculated", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fTsumwx", "Total sum of weight*X for each dimension", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::object_any, "fTsumwx2", "Total sum of weight*X*X for each dimension", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
};
constexpr ElementLayout class_21[] = {
    {ElementKind::base, "THnBase", "Common base for n-dimensional histogram", 0, 0, 0, 0, {0, 191498060, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fChunkSize", "Number of entries for each chunk", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fFilledBins", "Number of filled bins", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::object, "fBinContent", "Array of THnSparseArrayChunk", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
};
constexpr ElementLayout class_22[] = {
    {ElementKind::base, "TObject", "Basic ROOT object", 66, 0, 0, 0, {0, -1877229523, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fSingleCoordinateSize", "Size of a single bin coordinate", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fCoordinatesSize", "Size of the bin coordinate buffer", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_pointer, "fCoordinates", "[fCoordinatesSize] compact bin coordinate buffer", 41, 1, 0, 0, {0, 0, 0, 0, 0}, "char*", 1, "fCoordinatesSize", "THnSparseArrayChunk"},
    {ElementKind::object_any_pointer, "fContent", "Bin content", 69, 8, 0, 0, {0, 0, 0, 0, 0}, "TArray*"},
    {ElementKind::object_any_pointer, "fSumw2", "Bin errors", 69, 8, 0, 0, {0, 0, 0, 0, 0}, "TArrayD*"},
};
constexpr ElementLayout class_23[] = {
    {ElementKind::base, "THnSparse", "Interfaces of sparse n-dimensional histogram", 0, 0, 0, 0, {0, -1893647227, 0, 0, 0}, "BASE", 3},
};
constexpr ElementLayout class_24[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fLen", "Number of fixed length elements in the leaf's data.", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fLenType", "Number of bytes for this data type", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fOffset", "Offset in ClonesArray object (if one)", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fIsRange", "(=true if leaf has a range, false otherwise).  This is equivalent to being a 'leafcount'.  For a TLeafElement the range information is actually store in the TBranchElement.", 18, 1, 0, 0, {0, 0, 0, 0, 0}, "bool"},
    {ElementKind::basic_type, "fIsUnsigned", "(=true if unsigned, false otherwise)", 18, 1, 0, 0, {0, 0, 0, 0, 0}, "bool"},
    {ElementKind::object_pointer, "fLeafCount", "Pointer to Leaf count if variable length (we do not own the counter)", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TLeaf*"},
};
constexpr ElementLayout class_25[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 1, 1, 0, 0, {0, 0, 0, 0, 0}, "char"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 1, 1, 0, 0, {0, 0, 0, 0, 0}, "char"},
};
constexpr ElementLayout class_26[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
};
constexpr ElementLayout class_27[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
};
constexpr ElementLayout class_28[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 9, 8, 0, 0, {0, 0, 0, 0, 0}, "Double32_t"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 9, 8, 0, 0, {0, 0, 0, 0, 0}, "Double32_t"},
};
constexpr ElementLayout class_29[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 5, 4, 0, 0, {0, 0, 0, 0, 0}, "float"},
};
constexpr ElementLayout class_30[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 19, 4, 0, 0, {0, 0, 0, 0, 0}, "Float16_t"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 19, 4, 0, 0, {0, 0, 0, 0, 0}, "Float16_t"},
};
constexpr ElementLayout class_31[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 4, 8, 0, 0, {0, 0, 0, 0, 0}, "long"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 4, 8, 0, 0, {0, 0, 0, 0, 0}, "long"},
};
constexpr ElementLayout class_32[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
};
constexpr ElementLayout class_33[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
};
constexpr ElementLayout class_34[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 18, 1, 0, 0, {0, 0, 0, 0, 0}, "bool"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 18, 1, 0, 0, {0, 0, 0, 0, 0}, "bool"},
};
constexpr ElementLayout class_35[] = {
    {ElementKind::base, "TLeaf", "Leaf: description of a Branch data type", 0, 0, 0, 0, {0, 1830715730, 0, 0, 0}, "BASE", 2},
    {ElementKind::basic_type, "fMinimum", "Minimum value if leaf range is specified", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
    {ElementKind::basic_type, "fMaximum", "Maximum value if leaf range is specified", 2, 2, 0, 0, {0, 0, 0, 0, 0}, "short"},
};
constexpr ElementLayout class_36[] = {
    {ElementKind::base, "TSeqCollection", "Sequenceable collection ABC", 0, 0, 0, 0, {0, -60015674, 0, 0, 0}, "BASE", 0},
};
constexpr ElementLayout class_37[] = {
    {ElementKind::base, "TObject", "Basic ROOT object", 66, 0, 0, 0, {0, -1877229523, 0, 0, 0}, "BASE", 1},
    {ElementKind::string, "fName", "object identifier", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
    {ElementKind::string, "fTitle", "object title", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
};
constexpr ElementLayout class_38[] = {
    {ElementKind::base, "TSeqCollection", "Sequenceable collection ABC", 0, 0, 0, 0, {0, -60015674, 0, 0, 0}, "BASE", 0},
    {ElementKind::basic_type, "fLowerBound", "Lower bound of the array", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fLast", "Last element in array containing an object", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
};
constexpr ElementLayout class_39[] = {
    {ElementKind::base, "TObject", "Basic ROOT object", 66, 0, 0, 0, {0, -1877229523, 0, 0, 0}, "BASE", 1},
    {ElementKind::string, "fString", "wrapped TString", 65, 24, 0, 0, {0, 0, 0, 0, 0}, "TString"},
};
constexpr ElementLayout class_40[] = {
    {ElementKind::basic_type, "fUniqueID", "object unique identifier", 13, 4, 0, 0, {0, 0, 0, 0, 0}, "unsigned int"},
    {ElementKind::basic_type, "fBits", "bit field status word", 15, 4, 0, 0, {0, 0, 0, 0, 0}, "unsigned int"},
};
constexpr ElementLayout class_41[] = {
    {ElementKind::base, "TH1D", "1-Dim histograms (one double per channel)", 0, 0, 0, 0, {0, -105818465, 0, 0, 0}, "BASE", 3},
    {ElementKind::object_any, "fBinEntries", "number of entries per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::basic_type, "fErrorMode", "Option to compute errors", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "EErrorType"},
    {ElementKind::basic_type, "fYmin", "Lower limit in Y (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fYmax", "Upper limit in Y (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwy", "Total Sum of weight*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwy2", "Total Sum of weight*Y*Y", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fBinSumw2", "Array of sum of squares of weights per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
};
constexpr const char* rules_41[] = {
    "TProfile version=\"[1-5]\" source=\"\" target=\"fBinSumw2\" code=\"{ fBinSumw2.Reset(); }\" ",
};
constexpr ElementLayout class_42[] = {
    {ElementKind::base, "TH2D", "2-Dim histograms (one double per channel)", 0, 0, 0, 0, {0, 2142929648, 0, 0, 0}, "BASE", 4},
    {ElementKind::object_any, "fBinEntries", "Number of entries per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::basic_type, "fErrorMode", "Option to compute errors", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "EErrorType"},
    {ElementKind::basic_type, "fZmin", "Lower limit in Z (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fZmax", "Upper limit in Z (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwz", "Total Sum of weight*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwz2", "Total Sum of weight*Z*Z", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fBinSumw2", "Array of sum of squares of weights per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
};
constexpr const char* rules_42[] = {
    "TProfile2D version=\"[1-6]\" source=\"\" target=\"fBinSumw2\" code=\"{ fBinSumw2.Reset(); }\" ",
};
constexpr ElementLayout class_43[] = {
    {ElementKind::base, "TH3D", "3-Dim histograms (one double per channel)", 0, 0, 0, 0, {0, 1689911174, 0, 0, 0}, "BASE", 4},
    {ElementKind::object_any, "fBinEntries", "Number of entries per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::basic_type, "fErrorMode", "Option to compute errors", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "EErrorType"},
    {ElementKind::basic_type, "fTmin", "Lower limit in T (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTmax", "Upper limit in T (if set)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwt", "Total Sum of weight*T", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTsumwt2", "Total Sum of weight*T*T", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::object_any, "fBinSumw2", "Array of sum of squares of weights per bin", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
};
constexpr const char* rules_43[] = {
    "TProfile3D version=\"[1-6]\" source=\"\" target=\"fBinSumw2\" code=\"{ fBinSumw2.Reset(); }\" ",
};
constexpr ElementLayout class_44[] = {
    {ElementKind::base, "TObject", "Basic ROOT object", 66, 0, 0, 0, {0, -1877229523, 0, 0, 0}, "BASE", 1},
    {ElementKind::basic_type, "fSize", "dummy for backward compatibility", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::object_pointer, "fParents", "array of Parent objects  (eg TTree branch) holding the referenced objects", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TObjArray*"},
    {ElementKind::object_pointer, "fOwner", "Object owning this TRefTable", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TObject*"},
    {ElementKind::stl, "fProcessGUIDs", "UUIDs of TProcessIDs used in fParentIDs", 500, 24, 0, 0, {0, 0, 0, 0, 0}, "vector<string>", 1, "", "", 61},
};
constexpr ElementLayout class_45[] = {
    {ElementKind::base, "TCollection", "Collection abstract base class", 0, 0, 0, 0, {0, 1474546588, 0, 0, 0}, "BASE", 3},
};
constexpr ElementLayout class_47[] = {
    {ElementKind::base, "TNamed", "The basis for a named object (name, title)", 67, 0, 0, 0, {0, -541636036, 0, 0, 0}, "BASE", 1},
    {ElementKind::base, "TAttLine", "Line attributes", 0, 0, 0, 0, {0, -1811462839, 0, 0, 0}, "BASE", 2},
    {ElementKind::base, "TAttFill", "Fill area attributes", 0, 0, 0, 0, {0, -2545006, 0, 0, 0}, "BASE", 2},
    {ElementKind::base, "TAttMarker", "Marker attributes", 0, 0, 0, 0, {0, 689802220, 0, 0, 0}, "BASE", 3},
    {ElementKind::basic_type, "fEntries", "Number of entries", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fTotBytes", "Total number of bytes in all branches before compression", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fZipBytes", "Total number of bytes in all branches after compression", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fSavedBytes", "Number of autosaved bytes", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fFlushedBytes", "Number of auto-flushed bytes", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fWeight", "Tree weight (see TTree::SetWeight)", 8, 8, 0, 0, {0, 0, 0, 0, 0}, "double"},
    {ElementKind::basic_type, "fTimerInterval", "Timer interval in milliseconds", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fScanField", "Number of runs before prompting in Scan", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fUpdate", "Update frequency for EntryLoop", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fDefaultEntryOffsetLen", "Initial Length of fEntryOffset table in the basket buffers", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fNClusterRange", "Number of Cluster range in addition to the one defined by 'AutoFlush'", 3, 4, 0, 0, {0, 0, 0, 0, 0}, "int"},
    {ElementKind::basic_type, "fMaxEntries", "Maximum number of entries in case of circular buffers", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fMaxEntryLoop", "Maximum number of entries to process", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fMaxVirtualSize", "Maximum total size of buffers kept in memory", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fAutoSave", "Autosave tree when fAutoSave entries written or -fAutoSave (compressed) bytes produced", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fAutoFlush", "Auto-flush tree when fAutoFlush entries written or -fAutoFlush (compressed) bytes produced", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_type, "fEstimate", "Number of entries to estimate histogram limits", 16, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t"},
    {ElementKind::basic_pointer, "fClusterRangeEnd", "[fNClusterRange] Last entry of a cluster range.", 56, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t*", 20, "fNClusterRange", "TTree"},
    {ElementKind::basic_pointer, "fClusterSize", "[fNClusterRange] Number of entries in each cluster for a given range.", 56, 8, 0, 0, {0, 0, 0, 0, 0}, "Long64_t*", 20, "fNClusterRange", "TTree"},
    {ElementKind::object_any, "fIOFeatures", "IO features to define for newly-written baskets and branches.", 62, 1, 0, 0, {0, 0, 0, 0, 0}, "ROOT::TIOFeatures"},
    {ElementKind::object, "fBranches", "List of Branches", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::object, "fLeaves", "Direct pointers to individual branch leaves", 61, 64, 0, 0, {0, 0, 0, 0, 0}, "TObjArray"},
    {ElementKind::object_pointer, "fAliases", "List of aliases for expressions based on the tree branches.", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TList*"},
    {ElementKind::object_any, "fIndexValues", "Sorted index values", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayD"},
    {ElementKind::object_any, "fIndex", "Index of sorted values", 62, 24, 0, 0, {0, 0, 0, 0, 0}, "TArrayI"},
    {ElementKind::object_pointer, "fTreeIndex", "Pointer to the tree Index (if any)", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TVirtualIndex*"},
    {ElementKind::object_pointer, "fFriends", "pointer to list of friend elements", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TList*"},
    {ElementKind::object_pointer, "fUserInfo", "pointer to a list of user objects associated to this Tree", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TList*"},
    {ElementKind::object_pointer, "fBranchRef", "Branch supporting the TRefTable (if any)", 64, 8, 0, 0, {0, 0, 0, 0, 0}, "TBranchRef*"},
};
constexpr const char* rules_47[] = {
    "TTree version=\"[-16]\" source=\"\" target=\"fDefaultEntryOffsetLen\" code=\"{ fDefaultEntryOffsetLen = 1000; }\" ",
    "TTree version=\"[-18]\" source=\"\" target=\"fNClusterRange\" code=\"{ fNClusterRange = 0; }\" ",
};

constexpr ClassLayout layouts[] = {
    {"ROOT::RNTuple", 2, 0x28e632ec, class_0, {}},
    {"ROOT::TIOFeatures", 1, 0x1aa12f10, class_1, {}},
    {"TArray", 1, 0x7021b2, class_2, {}},
    {"TArrayD", 1, 0x7139ef34, class_3, {}},
    {"TAtt3D", 1, 0x757a, {}, {}},
    {"TAttAxis", 4, 0x5c6fff3e, class_5, {}},
    {"TAttFill", 2, 0xffd92a92, class_6, {}},
    {"TAttLine", 2, 0x94074549, class_7, {}},
    {"TAttMarker", 3, 0x291d8bec, class_8, {}},
    {"TAxis", 10, 0x5a496e70, class_9, {}},
    {"TBranch", 13, 0x10978aac, class_10, {}},
    {"TBranchRef", 1, 0x2360b3fd, class_11, {}},
    {"TCollection", 3, 0x57e3cb9c, class_12, {}},
    {"TH1", 8, 0x1c3740c4, class_13, {}},
    {"TH1D", 3, 0xf9b1569f, class_14, {}},
    {"TH2", 5, 0x182347f, class_15, {}},
    {"TH2D", 4, 0x7fba82f0, class_16, {}},
    {"TH3", 6, 0x42d2445f, class_17, {}},
    {"TH3D", 4, 0x64b9ff86, class_18, {}},
    {"THashList", 0, 0xcc7e49c1, class_19, {}},
    {"THnBase", 1, 0xb6a074c, class_20, {}},
    {"THnSparse", 3, 0x8f213c85, class_21, {}},
    {"THnSparseArrayChunk", 1, 0xebfcfc89, class_22, {}},
    {"THnSparseT<TArrayD>", 1, 0x36fce850, class_23, {}},
    {"TLeaf", 2, 0x6d1e8152, class_24, {}},
    {"TLeafB", 1, 0xf1e4b5e, class_25, {}},
    {"TLeafC", 1, 0xfbe3b2f3, class_26, {}},
    {"TLeafD", 1, 0x118e8776, class_27, {}},
    {"TLeafD32", 2, 0xe1dc6401, class_28, {}},
    {"TLeafF", 1, 0x3add9d72, class_29, {}},
    {"TLeafF16", 2, 0xeb35f883, class_30, {}},
    {"TLeafG", 1, 0xeca71cb7, class_31, {}},
    {"TLeafI", 1, 0x7e6aae19, class_32, {}},
    {"TLeafL", 1, 0xde320862, class_33, {}},
    {"TLeafO", 1, 0x2ae48d3, class_34, {}},
    {"TLeafS", 1, 0x150ceecf, class_35, {}},
    {"TList", 5, 0x69c5c3bb, class_36, {}},
    {"TNamed", 1, 0xdfb74a3c, class_37, {}},
    {"TObjArray", 3, 0xa99e6552, class_38, {}},
    {"TObjString", 1, 0x9c8e4800, class_39, {}},
    {"TObject", 1, 0x901bc02d, class_40, {}},
    {"TProfile", 7, 0x4bedee54, class_41, rules_41},
    {"TProfile2D", 8, 0x36a142ac, class_42, rules_42},
    {"TProfile3D", 8, 0xf60c6814, class_43, rules_43},
    {"TRefTable", 3, 0x8c895b85, class_44, {}},
    {"TSeqCollection", 0, 0xfc6c3bc6, class_45, {}},
    {"TString", 2, 0x17419, {}, {}},
    {"TTree", 20, 0x7264e07f, class_47, rules_47},
};

}  // namespace

std::span<const ClassLayout> class_layouts() { return layouts; }

const std::int32_t root_release = 64000;

}  // namespace forkrun::root_io
